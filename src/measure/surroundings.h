#pragma once
#include "probe/proc/load.h"
#include "trial/trial.h"

namespace sweetspot::measure {

// What is around a trial: the clock, and what else the machine does. Tests have one of their own.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual double now() = 0;  // seconds, never backwards
  virtual double seconds_since_1970() = 0;
  virtual probe::proc::Load load() = 0;
  virtual double speed() = 0;  // of a fixed computation, by the thread that measures
  double best_speed = 0;       // of all looks so far
};
Surroundings& this_machine();

// A look around, before and after sampling.
struct Look {
  double now = 0;
  probe::proc::Load load;
  double speed = 0;
};
Look look(Surroundings& surroundings);

// What the two looks say. The machine counts as contended when
//  - other processes took more than a tenth of the cores' time; or
//  - some task waited for a CPU for more than a tenth of the time, and others took at least a
//    twentieth: pressure alone may be our own threads, waiting for each other; or
//  - the fixed computation was more than 15% slower, before or after, than the best ever seen here:
//    throttled clocks, or a neighbour on the same core.
trial::Contention contention(const Look& before, const Look& after, double best_speed);

}  // namespace sweetspot::measure
