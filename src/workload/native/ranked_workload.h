#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// A native workload whose steps several ranks make together: the run's options have their group.
// The first rank requests sessions and steps, as of any workload, and the others mirror it until it
// is gone. A batch is that of all ranks, and so is the memory, of those on this machine. What does
// not depend on speed (the noise scale, learning rates, operations) the first measures alone, with
// one rank's part of a batch.
std::unique_ptr<Workload> make_ranked_workload(Run run);

// What the other ranks run meanwhile.
void follow_first_rank(Run run);

// Called by every rank of the run's group: measures for about `time` how fast they are together,
// compared with one alone. The result is on the first rank; nullopt if a rank cannot run it.
std::optional<trial::Scaling> measure_scaling(Run run, const trial::Setting& setting,
                                              core::Seconds time);

// The extra time of a step for one of several ranks compared with a single process, before anything
// is sent: gradients are stored to be summed, and applied in a separate pass. In seconds, measured
// in about `time` on the CPU; not below 0.
double rank_cost_seconds(const Run& run, const trial::Setting& setting, core::Seconds time);

}  // namespace sweetspot::workload::native
