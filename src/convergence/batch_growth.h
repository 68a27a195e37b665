#pragma once
#include <cstdint>
#include <span>

namespace sweetspot::convergence {

// A batch of the ladder that a growing one climbs, and its throughput.
struct Rung {
  std::int64_t batch = 1;
  double samples_per_second = 0;
};

// The worth of a sample of a batch relative to one of a very small batch, in the noisy part of
// training: 1 / (1 + batch / noise scale), since a target takes S_min (1 + noise scale / batch)
// steps (McCandlish et al. 2018, arXiv 1812.06162).
double sample_worth(double batch, double noise_scale);

// Samples per second, weighted by their worth.
double progress_per_second(const Rung& speed, double noise_scale);

// The batch to continue with after `now`: the next larger one of the ladder, if it makes more
// progress per second; else the same. `ladder` ascends and contains `now`.
std::int64_t grown_batch(std::span<const Rung> ladder, std::int64_t now, double noise_scale);

}  // namespace sweetspot::convergence
