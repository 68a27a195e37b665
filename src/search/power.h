#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace sweetspot::search {

// The power of a batch while it trains, as far as its energy was read: the logarithm of the watts,
// and what that may be wrong by (a standard deviation).
struct Power {
  double log_watts = 0, deviation = 0;
};
using Powers = std::map<std::int64_t, Power>;

// From the joules that a sample took in each trial of a batch, and the batch's samples per second.
Power power_of(std::span<const double> joules_per_sample, double samples_per_second);

// Power as a function of batch. It changes little from one batch to the next, however much speed
// does, so that what was not read lies between its neighbours, with an error that grows with the
// distance in octaves.
//
// Log watts at each of these batches, as they may be: so many draws, the same for the same
// readings.
std::vector<std::vector<double>> power_curves(const Powers& readings,
                                              std::span<const std::int64_t> batches, int count);

}  // namespace sweetspot::search
