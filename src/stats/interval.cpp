#include "stats/interval.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <vector>

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

std::optional<Interval> median_interval(std::span<const double> values) {
  const boost::math::binomial below_median(static_cast<double>(values.size()), 0.5);
  constexpr double one_sided = 0.025;
  std::size_t left_out = 0;  // at either end
  while (left_out < values.size() / 2 &&
         boost::math::cdf(below_median, static_cast<double>(left_out)) <= one_sided)
    ++left_out;
  if (left_out == 0) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return Interval{*median(values), sorted[left_out - 1], sorted[sorted.size() - left_out]};
}

Interval proportion(double share, double cases) {
  const double z2 = normal95 * normal95;
  const double centre = (share + z2 / (2 * cases)) / (1 + z2 / cases);
  const double half = normal95 / (1 + z2 / cases) *
                      std::sqrt(share * (1 - share) / cases + z2 / (4 * cases * cases));
  return {share, centre - half, centre + half};
}

}  // namespace sweetspot::stats
