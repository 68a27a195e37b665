#include "stats/interval.h"

#include <algorithm>
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

Interval proportion(double share, double cases) {
  const double z2 = normal95 * normal95;
  const double centre = (share + z2 / (2 * cases)) / (1 + z2 / cases);
  const double half = normal95 / (1 + z2 / cases) *
                      std::sqrt(share * (1 - share) / cases + z2 / (4 * cases * cases));
  return {share, centre - half, centre + half};
}

namespace {

bool above_zero(const Interval& interval) {
  return interval.low > 0 && interval.mean >= interval.low && interval.high >= interval.mean &&
         std::isfinite(interval.high);
}

bool are_above_zero(std::span<const double> values) {
  const auto is = [](double value) { return value > 0 && std::isfinite(value); };
  return !values.empty() && std::ranges::all_of(values, is);
}

Moments logs(std::span<const double> values) {
  Moments moments;
  for (const double value : values) moments.add(std::log(value));
  return moments;
}

}  // namespace

std::optional<Spread> spread(std::span<const std::vector<double>> groups) {
  double squares = 0, degrees = 0;
  for (const std::vector<double>& group : groups) {
    if (group.size() < 2 || !are_above_zero(group)) continue;
    const double more = static_cast<double>(group.size()) - 1;
    squares += more * *logs(group).variance(), degrees += more;
  }
  if (degrees < 1) return std::nullopt;
  return Spread{squares / degrees, degrees};
}

std::optional<Interval> combined(std::span<const double> group,
                                 const std::optional<Spread>& between) {
  if (!are_above_zero(group)) return std::nullopt;
  const double mean = logs(group).mean(), count = static_cast<double>(group.size());
  const double apart = between ? t95(between->degrees) * std::sqrt(between->variance / count) : 0;
  return Interval{std::exp(mean), std::exp(mean - apart), std::exp(mean + apart)};
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
