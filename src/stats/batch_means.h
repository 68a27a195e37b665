#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

constexpr int min_batches_for_interval = 8;

// The 95% interval of samples per second over steps of these seconds and samples: total samples
// over total seconds, with the interval of the seconds per sample. Steps are autocorrelated:
// neighbouring ones are averaged into batches, as many as leave the batch means uncorrelated (32,
// 16 or 8); the interval is Student's t of their spread. Remaining correlation at 8 widens it.
// Below 8 steps it is Student's t over the steps themselves. Multiplicative, so that its low end is
// positive for any noise. nullopt below two steps, or if no time passed.
std::optional<Interval> throughput_interval(std::span<const double> seconds,
                                            std::span<const std::int64_t> samples);

// Whether more steps no longer tighten the interval of throughput: four times the steps should
// halve it and twice the steps reduce it to 0.71; if both leave more than 0.85, the machine drifts,
// and further sampling is wasted. Never below 128 steps. Check at doublings, not after each step:
// every check has a chance of a false positive.
bool at_noise_floor(std::span<const double> seconds, std::span<const std::int64_t> samples);

}  // namespace sweetspot::stats
