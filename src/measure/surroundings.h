#pragma once
#include "probe/proc/load.h"
#include "trial/trial.h"

namespace sweetspot::measure {

// Of two fixed computations on all cores; 0 is unknown.
struct Speed {
  double arithmetic = 0;  // operations a second in registers
  double exchange = 0;    // bytes a second from one core to another
};
// By how much one is slower than the other, 0 to 1: the worse of the two computations.
double slower_share(const Speed& speed, const Speed& best);

// What is around a trial: the clock, and what else the machine does. Tests have one of their own.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual double now() = 0;  // seconds, never backwards
  virtual double seconds_since_1970() = 0;
  virtual probe::proc::Load load() = 0;
  virtual Speed speed() = 0;
  virtual void wait(double seconds) = 0;
  Speed best_speed;  // of all looks so far
  // How long trials may wait, all together, for a machine that is slower than it was to recover.
  double patience_seconds = 10;
};
Surroundings& this_machine();

// A look around, before and after sampling.
struct Look {
  double now = 0;
  probe::proc::Load load;
  std::optional<Speed> speed;  // unknown while a program runs that would be in its way
};
Look look(Surroundings& surroundings, bool resting);
// The same, once the machine is as fast as it was, or patience has an end.
Look look_when_calm(Surroundings& surroundings, bool resting);

// What the two looks say. The machine counts as contended when
//  - other processes took more than a tenth of the cores' time; or
//  - some task waited for a CPU for more than a tenth of the time, and others took at least a
//    twentieth: pressure alone may be our own threads, waiting for each other; or
//  - a fixed computation was much slower, before or after, than the best ever seen here: throttled
//    clocks, a neighbour on the same core, or cores that were moved apart.
trial::Contention contention(const Look& before, const Look& after, const Speed& best_speed);

}  // namespace sweetspot::measure
