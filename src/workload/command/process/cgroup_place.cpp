#include <algorithm>
#include <sstream>

#include "workload/command/process/cgroup.h"
#include "workload/command/process/kernel_file.h"

namespace sweetspot::workload::command::process {
namespace {

bool lists(const std::string& names, const std::string& wanted) {
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');)
    if (name == wanted) return true;
  return false;
}

struct Mount {
  std::string root, point;  // the part of the hierarchy that is mounted, and where
};

// "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
std::optional<Mount> mount_of(const std::string& mountinfo, int version) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream front(line), back(line.substr(dash + 3));
    std::string id, parent, device, type, source, options;
    Mount mount;
    front >> id >> parent >> device >> mount.root >> mount.point;
    back >> type >> source >> options;
    if (version == 2 ? type == "cgroup2" : type == "cgroup" && lists(options, "memory"))
      return mount;
  }
  return std::nullopt;
}

// The group's path is that of the hierarchy; what is mounted may be only a part of it (containers).
std::optional<std::string> below(const Mount& mount, std::string group) {
  if (group.find("/..") != group.npos) return std::nullopt;  // outside of our namespace's root
  if (mount.root != "/") {
    if (!(group + "/").starts_with(mount.root + "/")) return std::nullopt;
    group.erase(0, mount.root.size());
  }
  while (!group.empty() && group.back() == '/') group.pop_back();
  return mount.point + group;
}

}  // namespace

std::vector<CgroupPlace> own_cgroups(const std::string& proc) {
  std::vector<CgroupPlace> found;
  const std::string mountinfo = read_file(proc + "/mountinfo").value_or("");
  std::istringstream lines(read_file(proc + "/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/path" or "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const int version = controllers.empty() ? 2 : 1;
    if (version == 1 && !lists(controllers, "memory")) continue;
    const auto mount = mount_of(mountinfo, version);
    const auto folder = mount ? below(*mount, line.substr(second + 1)) : std::nullopt;
    if (folder) found.push_back({version, *folder});
  }
  // Where version 1 has the memory controller, version 2 cannot have it.
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.version < b.version; });
  return found;
}

}  // namespace sweetspot::workload::command::process
