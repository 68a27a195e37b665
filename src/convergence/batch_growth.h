#pragma once
#include <cstdint>
#include <span>

namespace sweetspot::convergence {

// What a batch does in a second.
struct BatchSpeed {
  std::int64_t batch = 1;
  double samples_per_second = 0;
};

// What a sample of a batch is worth beside one of a very small batch, while training is in its
// noisy part: 1 / (1 + batch / noise scale), since a target takes S_min (1 + noise scale / batch)
// steps (McCandlish et al. 2018, arXiv 1812.06162).
double sample_worth(double batch, double noise_scale);

// Samples per second, each counted for what it is worth.
double progress_per_second(const BatchSpeed& speed, double noise_scale);

// The batch to go on with after `now`: the next larger one of the ladder, if it makes more progress
// a second; else the same. `ladder` ascends and has `now` in it.
std::int64_t grown_batch(std::span<const BatchSpeed> ladder, std::int64_t now, double noise_scale);

}  // namespace sweetspot::convergence
