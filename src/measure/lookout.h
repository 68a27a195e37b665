#pragma once
#include <vector>

#include "measure/surroundings.h"

namespace sweetspot::measure {

// Looks at the machine between blocks of a trial's steps. A virtual machine has neighbours that no
// reading shows: they take a part of a physical core, or have its cores moved apart, for tenths of
// a second, many times a minute. What a block of steps then took says nothing of the setting.
class Lookout {
 public:
  Lookout(Surroundings& surroundings, const trial::MachineSpeed& first);

  // Of steps between two looks: long enough that looking takes little beside it, and no longer, for
  // what passes between two looks is not seen.
  double block_seconds() const;
  // Looks. Whether the machine was as fast as it has been, now and at the look before.
  bool calm_since_last();

  // Of all looks: the fastest, and what a quarter of them did not reach. (The slowest may be one
  // that was interrupted.)
  const trial::MachineSpeed& fastest() const { return fastest_; }
  trial::MachineSpeed lower_quarter() const { return trial::quantile(looks_, 0.25); }
  // The mean of those at the end of blocks that were calm; unknown where none was.
  trial::MachineSpeed calm() const;

 private:
  Surroundings& surroundings_;
  trial::MachineSpeed last_, fastest_, calm_sum_;
  std::vector<trial::MachineSpeed> looks_;
  std::int64_t calm_looks_ = 0;
  double look_seconds_ = 0;  // the shortest so far
};

}  // namespace sweetspot::measure
