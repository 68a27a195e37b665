#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/interval.h"

namespace sweetspot::stats {

using core::Interval;

// The 95% interval of the mean of independent values, such as those of runs with different seeds,
// by Student's t. nullopt below two values.
std::optional<Interval> independent_mean(std::span<const double> values);

// A share observed in this many independent cases, with Wilson's 95% interval: sound near 0 and 1,
// where accuracies are.
Interval proportion(double share, double cases);

// The spread of repeated measurements, over everything that was repeated: the variance of their
// logarithms around each group's own mean.
struct Spread {
  double variance = 0, degrees = 0;
};
// nullopt if nothing was measured twice.
std::optional<Spread> spread(std::span<const std::vector<double>> groups);

// Several measurements of one quantity as one estimate; without a spread it has no width. nullopt
// unless all are above zero.
std::optional<Interval> combined(std::span<const double> group,
                                 const std::optional<Spread>& between);

// numerator / denominator of two independent estimates with their intervals, on a logarithmic
// scale: the inverse ratio has the inverse interval. nullopt unless all are above zero.
std::optional<Interval> ratio(const Interval& numerator, const Interval& denominator);

}  // namespace sweetspot::stats
