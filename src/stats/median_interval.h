#pragma once
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

// The median with its 95% interval, of independent values of any distribution: between two order
// statistics, chosen by the binomial distribution. nullopt below six values.
std::optional<Interval> median_interval(std::span<const double> values);

}  // namespace sweetspot::stats
