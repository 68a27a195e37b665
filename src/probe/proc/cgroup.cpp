#include "probe/proc/cgroup.h"

#include <algorithm>
#include <sstream>

#include "probe/text_file.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;

// Version 1 expresses "no limit" as the largest page-aligned number: nothing that large is a limit.
constexpr core::Bytes no_limit = core::Bytes{1} << 60;

std::vector<fs::path> levels_under(const fs::path& mount, const fs::path& group) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  // Inside a container the group's path is the host's and may not exist below the mount: the levels
  // that do exist count. A path with ".." would leave the mount.
  fs::path inner = group.lexically_normal().relative_path();
  if (std::find(inner.begin(), inner.end(), "..") != inner.end()) inner.clear();
  for (; !inner.empty(); inner = inner.parent_path())
    if (fs::is_directory(mount / inner, ignored)) folders.push_back(mount / inner);
  if (fs::is_directory(mount, ignored)) folders.push_back(mount);
  return folders;
}

bool lists(const std::string& controllers, const std::string& controller) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == controller) return true;
  return false;
}

std::optional<core::Bytes> memory_limit(const fs::path& folder, int version) {
  const auto limit = read_number(folder / (version == 2 ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit >= no_limit) return std::nullopt;
  return limit;
}

core::Bytes memory_used(const fs::path& folder, int version) {
  const auto used =
      read_number(folder / (version == 2 ? "memory.current" : "memory.usage_in_bytes"));
  const auto reclaimable =
      read_field(folder / "memory.stat", version == 2 ? "inactive_file" : "total_inactive_file");
  return used.value_or(0) - std::min(reclaimable.value_or(0), used.value_or(0));
}

std::optional<double> cpu_quota(const fs::path& folder, int version) {
  if (version == 2) {
    std::istringstream words(read_text(folder / "cpu.max").value_or(""));
    double quota = 0, period = 0;  // "max 100000" is no quota
    if (words >> quota >> period && quota > 0 && period > 0) return quota / period;
    return std::nullopt;
  }
  const auto quota = read_number(folder / "cpu.cfs_quota_us");  // -1 is no quota
  const auto period = read_number(folder / "cpu.cfs_period_us");
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::vector<CgroupLevels> cgroup_levels(const fs::path& root, const std::string& controller) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::vector<CgroupLevels> found;
  std::istringstream lines(read_text(root / "proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    std::error_code ignored;
    if (controllers.empty()) {
      const bool hybrid = fs::is_directory(mounts / "unified", ignored);
      found.push_back({2, levels_under(hybrid ? mounts / "unified" : mounts, group)});
    } else if (lists(controllers, controller)) {
      const bool joint = !fs::is_directory(mounts / controller, ignored);
      found.push_back({1, levels_under(mounts / (joint ? controllers : controller), group)});
    }
  }
  return found;
}

std::optional<CgroupMemory> cgroup_memory(const fs::path& root) {
  std::optional<CgroupMemory> tightest;
  for (const CgroupLevels& levels : cgroup_levels(root, "memory")) {
    for (const fs::path& folder : levels.folders) {
      const auto limit = memory_limit(folder, levels.version);
      if (!limit) continue;
      const core::Bytes available = *limit - std::min(memory_used(folder, levels.version), *limit);
      if (!tightest || available < tightest->available) tightest = CgroupMemory{*limit, available};
    }
  }
  return tightest;
}

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  std::optional<double> tightest;
  for (const CgroupLevels& levels : cgroup_levels(root, "cpu"))
    for (const fs::path& folder : levels.folders)
      if (const auto quota = cpu_quota(folder, levels.version))
        tightest = std::min(tightest.value_or(*quota), *quota);
  return tightest;
}

}  // namespace sweetspot::probe::proc
