#pragma once
#include "advise/advise.h"
#include "workload/native/options.h"

namespace sweetspot::cli {

// What the device of these options can do at most: a CPU's as `doctor` measured it, a GPU's as its
// clocks rate it, in the precision of the options.
advise::Roofline device_roofline(const workload::native::Options& options);

}  // namespace sweetspot::cli
