#include "stats/ratio.h"

#include <algorithm>
#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

bool above_zero(const Interval& interval) {
  return interval.low > 0 && interval.mean >= interval.low && interval.high >= interval.mean &&
         std::isfinite(interval.high);
}

double mean_log(std::span<const Interval> group) {
  double sum = 0;
  for (const Interval& each : group) sum += std::log(each.mean);
  return sum / static_cast<double>(group.size());
}

}  // namespace

std::optional<Spread> spread(std::span<const std::vector<Interval>> groups) {
  double squares = 0, degrees = 0;
  for (const std::vector<Interval>& group : groups) {
    if (group.size() < 2 || !std::ranges::all_of(group, above_zero)) continue;
    const double mean = mean_log(group);
    for (const Interval& each : group) squares += std::pow(std::log(each.mean) - mean, 2);
    degrees += static_cast<double>(group.size()) - 1;
  }
  if (degrees < 1) return std::nullopt;
  return Spread{squares / degrees, degrees};
}

std::optional<Interval> combined(std::span<const Interval> group,
                                 const std::optional<Spread>& between) {
  if (group.empty() || !std::ranges::all_of(group, above_zero)) return std::nullopt;
  const auto count = static_cast<double>(group.size());
  // Each end separately: a disturbed machine's interval is asymmetric, further up than down.
  double down = 0, up = 0;
  for (const Interval& each : group) {
    down = std::hypot(down, std::log(each.mean / each.low) / count);
    up = std::hypot(up, std::log(each.high / each.mean) / count);
  }
  const double apart = between ? t95(between->degrees) * std::sqrt(between->variance / count) : 0.0;
  const double mean = std::exp(mean_log(group));
  return Interval{mean, mean * std::exp(-std::max(down, apart)),
                  mean * std::exp(std::max(up, apart))};
}

std::optional<Interval> ratio(const Interval& numerator, const Interval& denominator) {
  if (!above_zero(numerator) || !above_zero(denominator)) return std::nullopt;
  // The distances to the ends add in quadrature, as standard errors do.
  const double down = std::hypot(std::log(numerator.mean / numerator.low),
                                 std::log(denominator.high / denominator.mean));
  const double up = std::hypot(std::log(numerator.high / numerator.mean),
                               std::log(denominator.mean / denominator.low));
  const double mean = numerator.mean / denominator.mean;
  return Interval{mean, mean * std::exp(-down), mean * std::exp(up)};
}

}  // namespace sweetspot::stats
