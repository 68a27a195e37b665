#include "stats/independent.h"

#include <cmath>

#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::stats {

std::optional<Interval> independent_mean(std::span<const double> values) {
  const Moments moments(values);
  const auto stddev = moments.stddev();
  if (!stddev) return std::nullopt;
  const double count = static_cast<double>(moments.count());
  const double half = t95(count - 1) * *stddev / std::sqrt(count);
  return Interval{moments.mean(), moments.mean() - half, moments.mean() + half};
}

}  // namespace sweetspot::stats
