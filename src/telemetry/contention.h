#pragma once
#include <optional>
#include <span>

#include "telemetry/machine.h"
#include "trial/trial.h"

namespace sweetspot::telemetry {

// A reading of the machine's other load, before and after steps.
struct Look {
  double now = 0;
  probe::proc::Load load;
};
Look look(Machine& machine);

// Compares the two readings. The machine counts as contended when
//  - other processes took more than a tenth of the cores' time; or
//  - some task waited for a CPU for more than a tenth of the time, and others took at least a
//    twentieth: pressure alone may be our own threads, waiting for each other.
trial::Contention contention(const Look& before, const Look& after);
// Adds the contention on its GPU: also contended when
//  - other processes used it for more than a twentieth of the time, or were present uncounted; or
//  - heat, its hardware or its power supply throttled its clocks. Many devices hit a power cap
//    whenever they are busy: that is noted, and a user will have it as well.
void add(const GpuContention& gpu_contention, trial::Contention& contention);

// Whether other processes kept this one waiting: had a CPU for a fifth of the time or more while its
// threads were runnable. (On an otherwise idle machine it was up to a tenth, because of its own
// threads.) Always false where the kernel does not count it.
class WaitMonitor {
 public:
  explicit WaitMonitor(Machine& machine);
  bool was_kept_waiting();  // since the last call, or construction

 private:
  Machine& machine_;
  std::optional<probe::proc::Scheduling> scheduling_;
  double since_;
};

// At which of these moments the machine was slower than its baseline: its additions by 6% (if a
// neighbour shares one of two cores, their sum drops by a tenth), the exchange between cores by
// 40%. The baseline is what a tenth of the moments reach. All false below ten moments.
std::vector<bool> slow_moments(std::span<const probe::cpu::SpeedReading> moments);
// Their share. nullopt below ten moments.
std::optional<double> slowed_share(std::span<const probe::cpu::SpeedReading> moments);

}  // namespace sweetspot::telemetry
