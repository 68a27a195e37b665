#include "stats/ratio.h"

#include <algorithm>
#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

bool usable(const Observation& observation) {
  return observation.value > 0 && std::isfinite(observation.value) &&
         observation.half_width_share >= 0 && std::isfinite(observation.half_width_share);
}

double mean_log(std::span<const Observation> group) {
  double sum = 0;
  for (const Observation& observation : group) sum += std::log(observation.value);
  return sum / static_cast<double>(group.size());
}

bool above_zero(const Interval& interval) {
  return interval.low > 0 && interval.mean >= interval.low && interval.high >= interval.mean &&
         std::isfinite(interval.high);
}

}  // namespace

std::optional<Spread> spread(std::span<const std::vector<Observation>> groups) {
  double squares = 0, degrees = 0;
  for (const std::vector<Observation>& group : groups) {
    if (group.size() < 2 || !std::ranges::all_of(group, usable)) continue;
    const double mean = mean_log(group);
    for (const Observation& observation : group)
      squares += std::pow(std::log(observation.value) - mean, 2);
    degrees += static_cast<double>(group.size()) - 1;
  }
  if (degrees < 1) return std::nullopt;
  return Spread{squares / degrees, degrees};
}

std::optional<Interval> combined(std::span<const Observation> group,
                                 const std::optional<Spread>& between) {
  if (group.empty() || !std::ranges::all_of(group, usable)) return std::nullopt;
  const auto count = static_cast<double>(group.size());
  double squares = 0;
  for (const Observation& each : group) squares += each.half_width_share * each.half_width_share;
  double half = std::sqrt(squares) / count;
  if (between) half = std::max(half, t95(between->degrees) * std::sqrt(between->variance / count));
  const double mean = std::exp(mean_log(group));
  return Interval{mean, mean * std::exp(-half), mean * std::exp(half)};
}

std::optional<Interval> ratio(const Interval& numerator, const Interval& denominator) {
  if (!above_zero(numerator) || !above_zero(denominator)) return std::nullopt;
  // The distances to the ends add up as standard errors do, each end by itself: the intervals need
  // not be symmetric.
  const double down = std::hypot(std::log(numerator.mean / numerator.low),
                                 std::log(denominator.high / denominator.mean));
  const double up = std::hypot(std::log(numerator.high / numerator.mean),
                               std::log(denominator.mean / denominator.low));
  const double mean = numerator.mean / denominator.mean;
  return Interval{mean, mean * std::exp(-down), mean * std::exp(up)};
}

}  // namespace sweetspot::stats
