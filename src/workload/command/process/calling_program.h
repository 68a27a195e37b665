#pragma once
#include <sys/types.h>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/peak_memory.h"
#include "workload/command/process/process.h"
#include "workload/command/process/tree.h"

namespace sweetspot::workload::command::process {

// The program that called us and trains in its own process: it is observed, and never ended. Its
// output is not read.
class Caller final : public Watched {
 public:
  explicit Caller(pid_t pid);

  std::vector<int> descriptors() const override;
  std::vector<Chunk> take() override { return {}; }
  bool ended() override;
  std::optional<Memory> memory() override;
  std::size_t count() const override;
  bool forget_peak() override;
  Ending end(core::Seconds grace) override;
  std::vector<pid_t> members() const override { return family_of(pid_); }
  bool has(pid_t pid) const override { return is_family(pid, pid_); }

 private:
  pid_t pid_;
  Descriptor process_;  // readable once it has ended
  PeakMemory peak_memory_;
};

}  // namespace sweetspot::workload::command::process
