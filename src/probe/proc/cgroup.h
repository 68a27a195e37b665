#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::probe::proc {

// All ancestors of a control group apply, so each reading considers every level that is visible
// from here, in version 1 and version 2 of the interface.
struct CgroupLevels {
  int version = 2;
  std::vector<std::filesystem::path> folders;  // from this process's group up to the mount
};
std::vector<CgroupLevels> cgroup_levels(const std::filesystem::path& root,
                                        const std::string& controller);

struct CgroupMemory {
  core::Bytes limit = 0;
  core::Bytes available = 0;  // limit minus what is used and cannot be reclaimed
};
// The level with the least available; nullopt if no level has a limit.
std::optional<CgroupMemory> cgroup_memory(const std::filesystem::path& root = "/");

// CPU time per wall time that the groups allow, in cores; nullopt without a quota.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::proc
