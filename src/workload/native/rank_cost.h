#pragma once
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// The extra time of a step for one of several ranks compared with a single process, before anything
// is sent: gradients are stored to be summed, and applied in a separate pass. In seconds, measured
// in about `time` on the CPU; not below 0.
double rank_cost_seconds(const Run& run, const trial::Setting& setting, core::Seconds time);

}  // namespace sweetspot::workload::native
