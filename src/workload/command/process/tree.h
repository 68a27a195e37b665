#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "workload/command/process/cgroup.h"

namespace sweetspot::workload::command::process {

// Finds and signals the processes of a tree: those below the supervisor, those in the tree's cgroup
// and, if the supervisor is lost, those with the tree's mark in their environment.
class Tree {
 public:
  Tree(pid_t supervisor, const Cgroup* cgroup, std::string mark)
      : supervisor_(supervisor), cgroup_(cgroup), mark_(std::move(mark)) {}

  void lose_supervisor() { supervisor_lost_ = true; }
  void lose_cgroup() { cgroup_ = nullptr; }
  std::vector<pid_t> members() const;  // without zombies, which hold nothing
  void signal(int number);             // to each member, and never to a process that reused its id
  bool empty() const;                  // no member is left, nor one that is about to die
  bool belongs(pid_t pid) const;

 private:
  pid_t supervisor_;
  const Cgroup* cgroup_;
  std::string mark_;
  bool supervisor_lost_ = false;
  // A dying process loses its mark before it is dead: without the supervisor, these show when it
  // is.
  std::vector<Descriptor> dying_;
};

// This process and its descendants, without our own process and its children.
std::vector<pid_t> family_of(pid_t pid);
bool is_family(pid_t pid, pid_t of);  // whether it is one of those

}  // namespace sweetspot::workload::command::process
