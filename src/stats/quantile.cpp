#include "stats/quantile.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace sweetspot::stats {

double t95(double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.975);
}

double t95_one_sided(double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.95);
}

double t_below(double t, double degrees) {
  return boost::math::cdf(boost::math::students_t(degrees), t);
}

std::optional<double> median(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

std::optional<double> robust_deviation(std::span<const double> values) {
  const auto centre = median(values);
  if (!centre) return std::nullopt;
  std::vector<double> distances(values.begin(), values.end());
  for (double& value : distances) value = std::abs(value - *centre);
  return 1.4826 * *median(distances);
}

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
