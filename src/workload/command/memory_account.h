#pragma once
#include "workload/command/gpu/watch.h"
#include "workload/command/program.h"
#include "workload/memory_growth.h"
#include "workload/out_of_memory.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// A trial's memory, of what limits its batch: the device's, as reported by its client, which knows
// more, else by the driver; the host's if it uses none.
class MemoryAccount {
 public:
  // `history`: of earlier trials.
  MemoryAccount(std::int64_t batch, gpu::History& history) : batch_(batch), history_(history) {}

  void look(const Program& program);                    // from time to time, while it steps
  void ran_out(const Program& program);                 // of memory
  void tell(const Program& program, Account& account);  // the peaks of this run of the program
  // What it would need beyond its peak.
  void tell_needs(const Program& program, Account& account) const;
  // Whether it still rises, on a device.
  bool rises(const Program& program) const { return is_on_device(program) && course_.rises(); }

 private:
  static bool is_on_device(const Program& program);
  gpu::GpuAccount tell_gpus(const Program& program, Account& account);
  std::optional<core::Bytes> margin(const Program& program) const;

  std::int64_t batch_;
  gpu::History& history_;
  MemoryMessage lack_;    // of a trial that ran out of memory
  MemoryGrowth course_;   // of its peak, while it stepped
  MemoryGrowth tensors_;  // the same without the allocator's cache, if its client reports it
  double next_look_at_ = 0;
};

}  // namespace sweetspot::workload::command
