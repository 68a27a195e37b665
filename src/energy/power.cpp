#include "energy/power.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/random.h"
#include "stats/experiment.h"
#include "stats/moments.h"

namespace sweetspot::energy {
namespace {

// The prior spread of two readings of one batch that lasted: the usual deviation of curves.
constexpr double power_deviation = experiment::roughness.front();

double octaves_between(std::int64_t low, std::int64_t high) {
  return std::log2(static_cast<double>(high) / static_cast<double>(low));
}

// Interpolated between the two neighbouring readings, else that of the nearest.
Power between(const Powers& readings, std::int64_t batch) {
  const auto above = readings.lower_bound(batch);
  if (above != readings.end() && above->first == batch) return above->second;
  const auto with_distance = [&](const Power& nearest, double octaves) -> Power {
    return {nearest.log_watts, std::hypot(nearest.deviation, power_deviation_per_octave * octaves)};
  };
  if (above == readings.begin())
    return with_distance(above->second, octaves_between(batch, above->first));
  const auto below = std::prev(above);
  const double from_below = octaves_between(below->first, batch);
  if (above == readings.end()) return with_distance(below->second, from_below);
  const double from_above = octaves_between(batch, above->first);
  const double share = from_below / (from_below + from_above);
  const Power& a = below->second;
  const Power& b = above->second;
  // Between two that differ it may jump as well as rise.
  const double jump = std::abs(b.log_watts - a.log_watts) * share * (1 - share);
  return with_distance({a.log_watts + share * (b.log_watts - a.log_watts),
                        std::hypot(std::max(a.deviation, b.deviation), jump)},
                       std::min(from_below, from_above));
}

}  // namespace

Power power_of(std::span<const Reading> readings, double samples_per_second) {
  const auto lasted = [&](const Reading& reading) {
    const double rounding = 0.99;  // the speed is that of other steps
    return static_cast<double>(reading.samples) >=
           rounding * power_reading_seconds * samples_per_second;
  };
  const bool any_lasted = std::ranges::any_of(readings, lasted);
  stats::Moments logs;
  for (const Reading& reading : readings)
    if (lasted(reading) == any_lasted) logs.add(std::log(reading.joules_per_sample));
  // Two readings estimate their own spread badly: the prior counts as two of them.
  const double prior = any_lasted ? power_deviation : quick_reading_deviation;
  const double count = static_cast<double>(logs.count());
  const double squares = logs.variance().value_or(0) * (count - 1) + 2 * std::pow(prior, 2);
  return {logs.mean() + std::log(samples_per_second), std::sqrt(squares / (count - 1 + 2) / count)};
}

std::vector<std::vector<double>> power_curves(const Powers& readings,
                                              std::span<const std::int64_t> batches, int count) {
  constexpr std::uint64_t seed = 1000;
  constexpr std::uint32_t powers_stream = 1;  // next to those of the speeds
  std::vector<Power> expected;
  for (const std::int64_t batch : batches) expected.push_back(between(readings, batch));
  std::vector<std::vector<double>> curves;
  for (int i = 0; i < count; ++i) {
    const core::Random random(seed, core::Purpose::curves, static_cast<std::uint32_t>(i),
                              powers_stream);
    std::vector<double>& curve = curves.emplace_back();
    for (std::size_t at = 0; at < batches.size(); ++at)
      curve.push_back(expected[at].log_watts + expected[at].deviation * random.normal(at));
  }
  return curves;
}

}  // namespace sweetspot::energy
