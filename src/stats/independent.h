#pragma once
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

// The 95% interval of the mean of independent values, such as those of runs with different seeds,
// by Student's t. nullopt below two values.
std::optional<Interval> independent_mean(std::span<const double> values);

}  // namespace sweetspot::stats
