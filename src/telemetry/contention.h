#pragma once
#include <optional>
#include <span>

#include "telemetry/machine.h"
#include "trial/trial.h"

namespace sweetspot::telemetry {

// A look at what else the machine does, before and after steps.
struct Look {
  double now = 0;
  probe::proc::Load load;
};
Look look(Machine& machine);

// What the two looks say. The machine counts as contended when
//  - other processes took more than a tenth of the cores' time; or
//  - some task waited for a CPU for more than a tenth of the time, and others took at least a
//    twentieth: pressure alone may be our own threads, waiting for each other.
trial::Contention contention(const Look& before, const Look& after);
// And the contention on its GPU: contended too when
//  - other processes used it for more than a twentieth of the time, or were there uncounted; or
//  - heat, its hardware or its power supply held its clocks back. A power cap does so on many a
//    device whenever it is busy: that is noted, and is what a user will have as well.
void add(const GpuContention& gpu_contention, trial::Contention& contention);

// Whether other processes kept this one waiting: had a CPU, for a fifth of the time or more, that
// its threads were ready to use. (Alone on a machine it was up to a tenth, by its own threads.)
// Never where the kernel does not tell.
class WaitMonitor {
 public:
  explicit WaitMonitor(Machine& machine);
  bool was_kept_waiting();  // since it was asked last, or made

 private:
  Machine& machine_;
  std::optional<probe::proc::Scheduling> scheduling_;
  double since_;
};

// At which of these moments the machine was slower than it can be: its additions by 6% (of two
// cores, one that a neighbour shares takes a tenth from their sum), what passes between cores by
// 40%. It can be what a tenth of the moments show. None below ten moments.
std::vector<bool> slow_moments(std::span<const probe::cpu::SpeedReading> moments);
// Their share. Nothing below ten moments.
std::optional<double> slowed_share(std::span<const probe::cpu::SpeedReading> moments);

}  // namespace sweetspot::telemetry
