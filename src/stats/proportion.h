#pragma once
#include "stats/interval.h"

namespace sweetspot::stats {

// A share observed in this many independent cases, with Wilson's 95% interval: sound near 0 and 1,
// where accuracies are.
Interval proportion(double share, double cases);

}  // namespace sweetspot::stats
