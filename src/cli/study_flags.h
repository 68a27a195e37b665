#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "cli/command_flags.h"
#include "cli/native_flags.h"
#include "core/units.h"
#include "report/answer.h"
#include "study/loop.h"

namespace CLI {
class App;
}

namespace sweetspot::cli {

class Output;

// What `tune` and `sweep` share: the workload, its limits, the store and the forms of the result.
struct StudyFlags {
  NativeFlags native;
  CommandFlags command;
  std::string workload = "native";  // or "fake:…", for tests
  std::optional<core::Bytes> memory_limit;
  double memory_share = 0.9;  // of what is free
  double tolerance = 0.05;
  double precision = 0.02;
  std::optional<core::Seconds> budget;
  bool fresh = false, verbose = false, plot = false;
  std::optional<std::string> db;
  std::optional<std::filesystem::path> csv, markdown;
};
void add_study_flags(CLI::App& app, StudyFlags& flags);
// Those of the workload, ours or a program, and the hidden fake one.
void add_either_workload_flags(CLI::App& app, StudyFlags& flags);
// "5%" or "0.05".
double parse_share(const std::string& text, const std::string& flag, double most);

// InputError before anything is measured, when a file asked for could not be written at the end.
void check_exports(const StudyFlags& flags);
void write_exports(const StudyFlags& flags, const report::Answer& answer);

// What a run may take: the limit asked for, and never more than the share of what is free now.
std::optional<core::Bytes> memory_allowed(const StudyFlags& flags, std::optional<core::Bytes> free);

}  // namespace sweetspot::cli
