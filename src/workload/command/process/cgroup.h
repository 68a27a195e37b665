#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {

// This process's own control group, from /proc/self/cgroup and /proc/self/mountinfo.
struct CgroupPlace {
  int version = 2;
  std::string folder;
};
// The groups that may account for memory, the more likely first. Read from `proc` ("/proc/self").
std::vector<CgroupPlace> own_cgroups(const std::string& proc = "/proc/self");

// How often the OOM killer killed a process of the group; nullopt if unknown.
std::optional<std::uint64_t> oom_kills(const CgroupPlace& place);

// A control group for a process tree, below ours so that our limits apply to it too.
class Cgroup {
 public:
  // nullopt if none may be created. A group that cannot account for memory still finds processes.
  static std::optional<Cgroup> make(const std::string& name);
  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();  // removes it; its processes must be gone

  const CgroupPlace& place() const { return place_; }
  Descriptor open_procs() const;  // to join by writing "0"
  bool accounts_memory() const;
  bool limit_memory(core::Bytes bytes) const;
  std::vector<pid_t> processes() const;
  void kill() const;  // all at once, if the kernel supports it (5.14)

 private:
  explicit Cgroup(CgroupPlace place) : place_(std::move(place)) {}
  CgroupPlace place_;
};

}  // namespace sweetspot::workload::command::process
