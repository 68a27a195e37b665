#pragma once
#include <cstdint>
#include <span>

namespace sweetspot::stats {

// Whether more steps no longer tighten the interval of throughput: four times the steps should
// halve it and twice the steps reduce it to 0.71; if both leave more than 0.85, the machine drifts,
// and further sampling is wasted. Never below 128 steps. Check at doublings, not after each step:
// every check has a chance of a false positive.
bool at_noise_floor(std::span<const double> seconds, std::span<const std::int64_t> samples);

}  // namespace sweetspot::stats
