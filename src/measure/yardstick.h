#pragma once
#include <vector>

#include "trial/machine_speed.h"

namespace sweetspot::measure {

// What a machine's speed is held against: the most that two looks in a row have shown, for a single
// one may be luck. A machine that hardly ever shows as much any more, for its clock is not kept up
// or its neighbours have come to stay, is measured by what it shows now.
class Yardstick {
 public:
  explicit Yardstick(const trial::MachineSpeed& best = {}) : best_(best) {}
  const trial::MachineSpeed& best() const { return best_; }
  // Whether steps at this speed are disturbed. Where many cores are seldom all free, as much is
  // tolerated as a whole trial may be slower.
  bool is_slow(const trial::MachineSpeed& now) const;
  void saw(const trial::MachineSpeed& now, double at_seconds);

 private:
  trial::MachineSpeed best_, last_;
  std::vector<trial::MachineSpeed> recent_;
  std::size_t calm_ = 0, free_ = 0;  // of those: not slow, and not even a little
  bool is_strict_ = true;
  double since_seconds_ = 0;
};

}  // namespace sweetspot::measure
