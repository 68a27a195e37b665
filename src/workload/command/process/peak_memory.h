#pragma once
#include <functional>
#include <optional>
#include <string>

#include "core/units.h"
#include "workload/command/process/process.h"
#include "workload/command/process/tree.h"

namespace sweetspot::workload::command::process {

// The peak memory of a tree, by its cgroup or by summing its processes.
class PeakMemory {
 public:
  PeakMemory(const Tree& tree, const Cgroup* cgroup);
  // By summing those that `members` lists.
  explicit PeakMemory(std::function<std::vector<pid_t>()> members);
  void sample();                    // at any rate: expensive readings are made rarely
  void sample_last();               // whatever it costs
  void forget() { peak_.reset(); }  // for summed processes: a cgroup's peak stays
  const std::optional<Memory>& peak() const { return peak_; }

 private:
  void sample_cgroup();
  void sample_processes();
  void note(core::Bytes bytes, const std::string& how);

  std::function<std::vector<pid_t>()> members_;
  const Cgroup* cgroup_;  // one that accounts for memory, or nullptr
  core::Bytes most_cache_ = 0;
  double next_seconds_ = 0;  // when summing may be paid for again
  std::optional<Memory> peak_;
};

}  // namespace sweetspot::workload::command::process
