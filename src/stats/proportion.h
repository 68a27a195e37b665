#pragma once
#include "stats/interval.h"

namespace sweetspot::stats {

// A share that was seen in so many independent cases, with Wilson's 95% interval: sound near 0 and
// 1, where accuracies are.
Interval proportion(double share, double cases);

}  // namespace sweetspot::stats
