#pragma once
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// What a step takes longer for one of several ranks than for a process that trains alone, before
// anything is sent: gradients are written down to be summed, and applied in a pass of their own. In
// seconds, measured in about so long on the CPU; not below 0.
double rank_cost_seconds(const Run& run, const trial::Setting& setting, core::Seconds time);

}  // namespace sweetspot::workload::native
