#pragma once
#include <optional>
#include <span>
#include <vector>

#include "stats/interval.h"

namespace sweetspot::stats {

// How far repeated measurements lie apart, of all things that were repeated: the variance of their
// logarithms around each thing's own mean.
struct Spread {
  double variance = 0, degrees = 0;
};
// Nothing when nothing was measured twice.
std::optional<Spread> spread(std::span<const std::vector<Interval>> groups);

// Several measurements of one thing, each with its own 95% interval, as one estimate. What one run
// tells of itself is not all: runs differ from each other as well, so the wider of the two counts.
// Nothing unless all are above zero.
std::optional<Interval> combined(std::span<const Interval> group,
                                 const std::optional<Spread>& between);

// numerator / denominator of two independent estimates with their intervals, on a logarithmic
// scale: the ratio turned round has the interval turned round. Nothing unless all are above zero.
std::optional<Interval> ratio(const Interval& numerator, const Interval& denominator);

}  // namespace sweetspot::stats
