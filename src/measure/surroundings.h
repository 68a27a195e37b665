#pragma once
#include <functional>

#include "probe/proc/load.h"
#include "trial/machine_speed.h"

namespace sweetspot::measure {

// What is around a trial: the clock, and what else the machine does. Tests have one of their own.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual double now() = 0;  // seconds, never backwards
  virtual double seconds_since_1970() = 0;
  virtual probe::proc::Load load() = 0;
  virtual trial::MachineSpeed speed() = 0;
  virtual void wait(double seconds) = 0;
  trial::MachineSpeed best_speed;  // of all looks so far
};
Surroundings& this_machine();

// A look around, before and after sampling.
struct Look {
  double now = 0;
  probe::proc::Load load;
  double waited_seconds = 0;
  std::optional<trial::MachineSpeed>
      speed;  // unknown while a program runs that would be in its way
};
Look look(Surroundings& surroundings, bool resting);
// The same, once the machine is as fast as it was, or after `patience_seconds`, or when nobody
// wants to wait any more.
Look look_when_calm(Surroundings& surroundings, bool resting, double patience_seconds,
                    const std::function<bool()>& hurry);

// What the two looks say. The machine counts as contended when
//  - other processes took more than a tenth of the cores' time; or
//  - some task waited for a CPU for more than a tenth of the time, and others took at least a
//    twentieth: pressure alone may be our own threads, waiting for each other; or
//  - a fixed computation was much slower, before or after, than the best ever seen here.
trial::Contention contention(const Look& before, const Look& after,
                             const trial::MachineSpeed& best_speed);

// The interval of what the machine alone would have given: a contended trial's reaches up by what
// the others took, or by as much as the machine was slower than it can be.
trial::Interval widened(trial::Interval samples_per_second, const trial::Contention& contention,
                        const trial::MachineSpeed& best_speed);

}  // namespace sweetspot::measure
