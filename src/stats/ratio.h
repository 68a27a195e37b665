#pragma once
#include <optional>
#include <span>
#include <vector>

#include "stats/interval.h"

namespace sweetspot::stats {

// The spread of repeated measurements, over everything that was repeated: the variance of their
// logarithms around each group's own mean.
struct Spread {
  double variance = 0, degrees = 0;
};
// nullopt if nothing was measured twice.
std::optional<Spread> spread(std::span<const std::vector<Interval>> groups);

// Several measurements of one quantity, each with its own 95% interval, as one estimate. A run's
// own interval does not cover the difference between runs, so the wider of the two counts. nullopt
// unless all are above zero.
std::optional<Interval> combined(std::span<const Interval> group,
                                 const std::optional<Spread>& between);

// numerator / denominator of two independent estimates with their intervals, on a logarithmic
// scale: the inverse ratio has the inverse interval. nullopt unless all are above zero.
std::optional<Interval> ratio(const Interval& numerator, const Interval& denominator);

}  // namespace sweetspot::stats
