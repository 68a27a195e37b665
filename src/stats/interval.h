#pragma once
#include <optional>
#include <span>

#include "core/interval.h"

namespace sweetspot::stats {

using core::Interval;

// The 95% interval of the mean of independent values, such as those of runs with different seeds,
// by Student's t. nullopt below two values.
std::optional<Interval> independent_mean(std::span<const double> values);

// The median with its 95% interval, of independent values of any distribution: between two order
// statistics, chosen by the binomial distribution. nullopt below six values.
std::optional<Interval> median_interval(std::span<const double> values);

// A share observed in this many independent cases, with Wilson's 95% interval: sound near 0 and 1,
// where accuracies are.
Interval proportion(double share, double cases);

}  // namespace sweetspot::stats
