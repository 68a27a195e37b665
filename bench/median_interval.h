#pragma once
#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/interval.h"
#include "stats/quantile.h"

namespace sweetspot::bench {

// The median with its 95% interval, of independent values of any distribution: between two order
// statistics, chosen by the binomial distribution. nullopt below six values.
inline std::optional<core::Interval> median_interval(std::span<const double> values) {
  const boost::math::binomial below_median(static_cast<double>(values.size()), 0.5);
  constexpr double one_sided = 0.025;
  std::size_t left_out = 0;  // at either end
  while (left_out < values.size() / 2 &&
         boost::math::cdf(below_median, static_cast<double>(left_out)) <= one_sided)
    ++left_out;
  if (left_out == 0) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return core::Interval{*stats::median(values), sorted[left_out - 1],
                        sorted[sorted.size() - left_out]};
}

}  // namespace sweetspot::bench
