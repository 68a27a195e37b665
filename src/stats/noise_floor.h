#pragma once
#include <cstdint>
#include <span>

namespace sweetspot::stats {

// Whether more steps no longer tighten the interval of throughput: four times the steps should have
// halved it and twice the steps taken 0.71 of it; when both still leave more than 0.85, the machine
// drifts, and sampling on is time wasted. Never below 128 steps. Ask now and
// then (at doublings), not after each step: every question has its chance of a wrong yes.
bool at_noise_floor(std::span<const double> seconds, std::span<const std::int64_t> samples);

}  // namespace sweetspot::stats
