#include "stats/noise_floor.h"

#include <cmath>

#include "stats/batch_means.h"

namespace sweetspot::stats {

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
