#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "cli/flags/command_flags.h"
#include "cli/flags/native_flags.h"
#include "core/units.h"
#include "trial/setting_fields.h"

namespace CLI {
class App;
}

namespace sweetspot::cli {

class Output;

constexpr const char* power_limits_key = "power_limit_watts";  // of the values to try

// --memory-limit: for the host, for each GPU, or for the device that the workload computes on.
struct MemoryLimits {
  std::optional<core::Bytes> any, host, gpu;
};
// Adds one `16GiB`, `gpu=16GiB` or `gpu=16GiB,host=8GiB`.
void parse_memory_limit(const std::string& text, MemoryLimits& limits);

// Common to `tune` and `sweep`: the workload, its limits, the store and the output formats.
struct StudyFlags {
  NativeFlags native;
  CommandFlags command;
  std::string workload = "native";  // or "fake:…", for tests
  MemoryLimits memory_limit;
  double memory_share = 0.9;  // of what is free
  double tolerance = 0.05;
  double precision = 0.02;
  std::optional<core::Seconds> budget;
  trial::Tried tried;  // power limits descending
  bool fresh = false, verbose = false, plot = false;
  std::string name;  // of the study
  std::optional<std::string> db;
  std::optional<std::filesystem::path> csv, markdown;
};
void add_study_flags(CLI::App& app, StudyFlags& flags);
// Those of the workload, native or a program, and the hidden fake one.
void add_either_workload_flags(CLI::App& app, StudyFlags& flags);

// InputError before anything is measured, if a requested file could not be written at the end.
void check_exports(const StudyFlags& flags);

// What a run may take of its device, the host or a GPU: the requested limit, and never more than
// the share of what is free there now.
std::optional<core::Bytes> memory_allowed(const StudyFlags& flags, std::optional<core::Bytes> free,
                                          bool on_gpu = false);
// The same for the host alone, whatever a program computes on.
std::optional<core::Bytes> host_memory_allowed(const StudyFlags& flags,
                                               std::optional<core::Bytes> free);

}  // namespace sweetspot::cli
