#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "workload/command/process/cgroup.h"

namespace sweetspot::workload::command::process {

// Finds and signals the processes of a tree: those below the warden, those in the tree's cgroup
// and, when the warden is lost, those that carry the tree's mark in their environment.
class Tree {
 public:
  Tree(pid_t warden, const Cgroup* cgroup, std::string mark)
      : warden_(warden), cgroup_(cgroup), mark_(std::move(mark)) {}

  void lose_warden() { warden_lost_ = true; }
  std::vector<pid_t> members() const;  // zombies are none: they hold nothing
  void signal(int number) const;       // to each member, and to nobody who took over its id

 private:
  bool belongs(pid_t pid) const;

  pid_t warden_;
  const Cgroup* cgroup_;
  std::string mark_;
  bool warden_lost_ = false;
};

}  // namespace sweetspot::workload::command::process
