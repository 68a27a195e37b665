#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::probe::proc {

struct Cpu {
  std::optional<std::string> model;
  std::vector<std::string> flags;
  bool has(const std::string& flag) const;
};
Cpu cpu(const std::filesystem::path& root = "/");

// Cores this process may be scheduled on, and those worth a thread each given a CPU quota.
int scheduled_cores();
int usable_cores(const std::filesystem::path& root = "/");

struct Memory {
  std::optional<core::Bytes> total, available;  // of the machine
  std::optional<core::Bytes> cgroup_limit;
  std::optional<core::Bytes> free;  // what this process may still take: machine and groups combined
};
Memory memory(const std::filesystem::path& root = "/");

// NVIDIA GPUs from the kernel driver; with names if it reports them.
std::vector<std::string> nvidia_gpus(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::proc
