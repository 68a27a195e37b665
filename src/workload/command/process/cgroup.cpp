#include "workload/command/process/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {
namespace {

constexpr mode_t usual_mode = 0755;

bool is_folder(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// The group and those that the program may have created below it, the deepest first.
void collect(const std::string& folder, std::vector<std::string>& found) {
  for (const std::string& name : entries(folder))
    if (is_folder(folder + "/" + name)) collect(folder + "/" + name, found);
  found.push_back(folder);
}

std::vector<std::string> folders(const std::string& top) {
  std::vector<std::string> found;
  collect(top, found);
  return found;
}

bool suits(const CgroupPlace& place) {
  // A version 1 group without hierarchy would let the tree escape our own limits.
  return place.version == 2 || read_number(place.folder + "/memory.use_hierarchy") != 0u;
}

// In version 2 the parent enables a group's memory controller, unless processes are in that parent
// itself (except the root): then there is none.
void ask_for_memory_controller(const CgroupPlace& own) {
  if (own.version == 2) write_file(own.folder + "/cgroup.subtree_control", "+memory");
}

}  // namespace

std::optional<std::uint64_t> oom_kills(const CgroupPlace& place) {
  const char* file = place.version == 2 ? "/memory.events" : "/memory.oom_control";
  return field(read_file(place.folder + file).value_or(""), "oom_kill");
}

std::optional<Cgroup> Cgroup::make(const std::string& name) {
  for (const CgroupPlace& own : own_cgroups()) {
    if (!suits(own)) continue;
    ask_for_memory_controller(own);
    const std::string folder = own.folder + "/" + name;
    if (mkdir(folder.c_str(), usual_mode) == 0) {
      Cgroup made({own.version, folder});
      if (made.open_procs()) return made;
    }
  }
  return std::nullopt;
}

Cgroup::~Cgroup() {
  if (place_.folder.empty()) return;  // moved from
  for (const std::string& folder : folders(place_.folder))
    // The kernel releases a group slightly after its last process.
    for (int attempt = 0; rmdir(folder.c_str()) != 0 && errno == EBUSY && attempt < 100; ++attempt)
      poll(nullptr, 0, 1);
}

Descriptor Cgroup::open_procs() const {
  return Descriptor(open((place_.folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
}

bool Cgroup::accounts_memory() const {
  const char* file = place_.version == 2 ? "/memory.current" : "/memory.usage_in_bytes";
  return read_number(place_.folder + file).has_value();
}

bool Cgroup::limit_memory(core::Bytes bytes) const {
  const std::string limit = std::to_string(bytes);
  if (place_.version == 2) {
    write_file(place_.folder + "/memory.swap.max", "0");  // no such file without swap
    return write_file(place_.folder + "/memory.max", limit);
  }
  const bool limited = write_file(place_.folder + "/memory.limit_in_bytes", limit);
  write_file(place_.folder + "/memory.memsw.limit_in_bytes", limit);
  return limited;
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> found;
  for (const std::string& folder : folders(place_.folder))
    for (const pid_t pid : numbers(read_file(folder + "/cgroup.procs").value_or("")))
      found.push_back(pid);
  return found;
}

void Cgroup::kill() const {
  if (place_.version == 2) write_file(place_.folder + "/cgroup.kill", "1");
}

namespace {

bool lists(const std::string& names, const std::string& wanted) {
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');)
    if (name == wanted) return true;
  return false;
}

struct Mount {
  std::string root, point;  // the mounted part of the hierarchy, and its mount point
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

// The group's path is that of the hierarchy; only a part of it may be mounted (containers).
std::optional<std::string> below(const Mount& mount, std::string group) {
  if (group.find("/..") != group.npos) return std::nullopt;  // outside our namespace's root
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
  // If version 1 has the memory controller, version 2 cannot have it.
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.version < b.version; });
  return found;
}

}  // namespace sweetspot::workload::command::process
