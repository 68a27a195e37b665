#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {

// Where this process's own control group is, from /proc/self/cgroup and /proc/self/mountinfo.
struct CgroupPlace {
  int version = 2;
  std::string folder;
};
// The places that may account for memory, the likelier first. Read below `proc` ("/proc/self").
std::vector<CgroupPlace> own_cgroups(const std::string& proc = "/proc/self");

// How often the OOM killer took a process of the group; nothing when it does not say.
std::optional<std::uint64_t> oom_kills(const CgroupPlace& place);

// A control group of a tree's own, below ours so that our limits hold for it too.
class Cgroup {
 public:
  // Nothing where none may be made. A group that cannot account for memory still finds processes.
  static std::optional<Cgroup> make(const std::string& name);
  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();  // removes it; its processes must be gone

  const CgroupPlace& place() const { return place_; }
  Descriptor open_procs() const;  // to join by writing "0"
  bool accounts_memory() const;
  bool limit_memory(core::Bytes bytes) const;
  std::vector<pid_t> processes() const;
  void kill() const;  // all at once, where the kernel can (5.14)

 private:
  explicit Cgroup(CgroupPlace place) : place_(std::move(place)) {}
  CgroupPlace place_;
};

}  // namespace sweetspot::workload::command::process
