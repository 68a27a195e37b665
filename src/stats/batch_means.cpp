#include "stats/batch_means.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

constexpr int most_batches = 32;  // t95 is 2.04 there: more batches gain nothing

// Batches of nearly equal length that use every value: `over` divided by `under`, batch by batch.
std::vector<double> ratios(std::span<const double> over, std::span<const double> under, int count) {
  std::vector<double> means(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < means.size(); ++i) {
    const std::size_t from = i * over.size() / means.size(),
                      to = (i + 1) * over.size() / means.size();
    const double top = std::accumulate(over.begin() + from, over.begin() + to, 0.0);
    const double bottom = std::accumulate(under.begin() + from, under.begin() + to, 0.0);
    means[i] = top / bottom;
  }
  return means;
}

// The correlation of a value with the previous one, −1 to 1; 0 without any variation.
double lag1_autocorrelation(std::span<const double> values) {
  const double mean = Moments(values).mean();
  double all = 0, shifted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all += (values[i] - mean) * (values[i] - mean);
    if (i > 0) shifted += (values[i] - mean) * (values[i - 1] - mean);
  }
  return all > 0 ? shifted / all : 0;
}

// Half the interval's width, in the unit of over/under.
double half_width(std::span<const double> over, std::span<const double> under) {
  for (int count = most_batches;; count /= 2) {
    if (static_cast<std::size_t>(count) > over.size()) continue;
    const auto means = ratios(over, under, count);
    const double correlation = lag1_autocorrelation(means);
    // One-sided 5% test for white noise. A negative correlation only makes the interval too wide.
    const bool independent = correlation < 1.645 / std::sqrt(count);
    if (!independent && count > min_batches_for_interval) continue;
    double variance = Moments(means).variance().value_or(0) / count;
    if (!independent) {
      // The mean of an AR(1) series has this much more variance; 0.6 limits the effect of 8 noisy
      // means.
      const double left = std::min(correlation, 0.6);
      variance *= (1 + left) / (1 - left);
    }
    return t95(count - 1) * std::sqrt(variance);
  }
}

}  // namespace

std::optional<Interval> throughput_interval(std::span<const double> seconds,
                                            std::span<const std::int64_t> samples) {
  const auto steps = static_cast<double>(seconds.size());
  if (steps < 2 || seconds.size() != samples.size()) return std::nullopt;
  const std::vector<double> counts(samples.begin(), samples.end());
  const double total_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const double total_samples = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (!(total_seconds > 0) || std::ranges::any_of(samples, [](auto count) { return count <= 0; }))
    return std::nullopt;
  const double mean = total_samples / total_seconds;
  if (steps < min_batches_for_interval) {
    const Moments moments(seconds);
    const double reach = 1 + t95(steps - 1) * *moments.stddev() / std::sqrt(steps) / moments.mean();
    return Interval{mean, mean / reach, mean * reach};
  }
  const double share = half_width(seconds, counts) * mean;  // of the seconds per sample
  return Interval{mean, mean * std::exp(-share), mean * std::exp(share)};
}

bool at_noise_floor(std::span<const double> seconds, std::span<const std::int64_t> samples) {
  constexpr std::size_t least_steps = 128;  // a quarter of it still has all 32 batches
  if (seconds.size() < least_steps || seconds.size() != samples.size()) return false;
  // The interval is multiplicative: its width is a logarithm.
  const auto width = [&](std::size_t count) {
    const auto interval = throughput_interval(seconds.first(count), samples.first(count));
    return interval ? std::log(interval->high / interval->low) : 0.0;
  };
  constexpr double shrunk = 0.85;
  const double now = width(seconds.size());
  return now > shrunk * width(seconds.size() / 2) && now > shrunk * width(seconds.size() / 4);
}

}  // namespace sweetspot::stats
