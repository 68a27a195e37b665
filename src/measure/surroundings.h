#pragma once
#include <functional>
#include <memory>
#include <string>

#include "measure/meter.h"
#include "measure/yardstick.h"
#include "probe/proc/load.h"
#include "trial/machine_speed.h"

namespace sweetspot::measure {

// What is around a trial: the clock, and what else the machine does. Tests have one of their own.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual double now() = 0;  // seconds, never backwards; for every thread
  virtual double seconds_since_1970() = 0;
  virtual probe::proc::Load load() = 0;
  virtual trial::MachineSpeed speed() = 0;
  virtual void wait(double seconds) = 0;
  // Of a trial's device, "cpu" or "cuda:0"; nullptr where there is nothing to read.
  virtual std::unique_ptr<Meter> meter(const std::string& device) = 0;
  // Between two readings of the meter beside a trial's steps; 0: none but at their begin and end.
  double reading_interval_seconds = 0.1;
  Yardstick yardstick;  // of its speed
};
Surroundings& this_machine();

// Why a trial of a slow machine is contended.
constexpr const char* slower_than_it_was = "the CPUs were slower than they have been";

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
// And what company the trial had on its device: contended too when
//  - other processes used it for more than a twentieth of the time, or were there uncounted; or
//  - heat, its hardware or its power supply held its clocks back. A power cap does so on many a
//    device whenever it is busy: that is noted, and is what a user will have as well.
void add(const Company& company, trial::Contention& contention);

// The interval of what the machine alone would have given: a contended trial's reaches up by what
// the others took, or by as much as the machine was slower than it can be.
trial::Interval widened(trial::Interval samples_per_second, const trial::Contention& contention,
                        const trial::MachineSpeed& best_speed);

}  // namespace sweetspot::measure
