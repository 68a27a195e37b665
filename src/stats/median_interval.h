#pragma once
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

// The median with its 95% interval, of independent values of any distribution: between two of the
// values themselves, as many from either end as 39 coins in 40 leave below it. Nothing below six
// values.
std::optional<Interval> median_interval(std::span<const double> values);

}  // namespace sweetspot::stats
