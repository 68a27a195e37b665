#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::probe::proc {

// A control group binds through all of its ancestors, so each reading looks at every level that is
// visible from here, in version 1 and version 2 of the interface.
struct CgroupLevels {
  int version = 2;
  std::vector<std::filesystem::path> folders;  // from this process's group up to the mount
};
std::vector<CgroupLevels> cgroup_levels(const std::filesystem::path& root,
                                        const std::string& controller);

struct CgroupMemory {
  core::Bytes limit = 0;
  core::Bytes room = 0;  // limit less what is used and cannot be reclaimed
};
// The level with the least room; nothing when no level has a limit.
std::optional<CgroupMemory> cgroup_memory(const std::filesystem::path& root = "/");

// CPU time per wall time that the groups allow, in cores; nothing without a quota.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::proc
