#include "stats/outliers.h"

#include <algorithm>
#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {

std::vector<bool> outliers(std::span<const double> values, double reach) {
  std::vector<bool> flags(values.size(), false);
  const auto centre = median(values), deviation = robust_deviation(values);
  if (!centre || !deviation) return flags;
  // Timers are quantised: with a deviation far below a percent every jitter would be an outlier.
  const double limit = reach * std::max(*deviation, 0.01 * std::abs(*centre));
  for (std::size_t i = 0; i < values.size(); ++i) flags[i] = std::abs(values[i] - *centre) > limit;
  return flags;
}

}  // namespace sweetspot::stats
