#pragma once
#include <span>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::trial {

// Of two fixed computations on all cores; 0 is unknown.
struct MachineSpeed {
  double arithmetic = 0;  // operations a second in registers
  double exchange = 0;    // bytes a second from one core to another
};
// By how much one is slower than the other, 0 to 1: the worse of the two computations.
double slower_share(const MachineSpeed& speed, const MachineSpeed& best);
// Arithmetic repeats itself to a percent. Of two cores one that a neighbour shares takes a tenth
// from their sum: steps are disturbed then. A whole trial counts as contended when it was slower
// still, for clocks rise and fall by themselves.
constexpr double disturbed_arithmetic_share = 0.06, slow_arithmetic_share = 0.15;
// Slower than a machine is by itself from one moment to the next: throttled clocks, a neighbour on
// the same core, or cores that were moved apart.
bool is_slow(const MachineSpeed& speed, const MachineSpeed& best,
             double arithmetic_share = slow_arithmetic_share);

MachineSpeed slowest(const MachineSpeed& a, const MachineSpeed& b);
MachineSpeed fastest(const MachineSpeed& a, const MachineSpeed& b);
// The speed that this share of them did not reach, of each computation by itself; one at least.
MachineSpeed quantile(std::span<const MachineSpeed> speeds, double share);

}  // namespace sweetspot::trial
