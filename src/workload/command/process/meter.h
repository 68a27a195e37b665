#pragma once
#include <functional>
#include <optional>
#include <string>

#include "core/units.h"
#include "workload/command/process/process.h"
#include "workload/command/process/tree.h"

namespace sweetspot::workload::command::process {

// The peak memory of a tree, by its cgroup or by adding up its processes.
class Meter {
 public:
  Meter(const Tree& tree, const Cgroup* cgroup);
  // By adding up those that `members` lists.
  explicit Meter(std::function<std::vector<pid_t>()> members);
  void sample();                    // as often as one likes: what is dear is done seldom
  void sample_last();               // whatever it costs
  void forget() { peak_.reset(); }  // of processes that are added up: a cgroup's peak stays
  const std::optional<Memory>& peak() const { return peak_; }

 private:
  void sample_cgroup();
  void sample_processes();
  void note(core::Bytes bytes, const std::string& how);

  std::function<std::vector<pid_t>()> members_;
  const Cgroup* cgroup_;  // one that accounts for memory, or nullptr
  core::Bytes most_cache_ = 0;
  double next_seconds_ = 0;  // when adding up may be paid for again
  std::optional<Memory> peak_;
};

}  // namespace sweetspot::workload::command::process
