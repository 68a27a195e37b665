#pragma once
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

// The mean of independent values with its 95% interval, by Student's t; of one value without width,
// of none nothing.
std::optional<Interval> mean_interval(std::span<const double> values);

}  // namespace sweetspot::stats
