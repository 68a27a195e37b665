#include "stats/mean_interval.h"

#include <cmath>

#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::stats {

std::optional<Interval> mean_interval(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const Moments moments(values);
  const double mean = moments.mean();
  if (values.size() == 1) return Interval{mean, mean, mean};
  const auto count = static_cast<double>(values.size());
  const double half = t95(count - 1) * *moments.stddev() / std::sqrt(count);
  return Interval{mean, mean - half, mean + half};
}

}  // namespace sweetspot::stats
