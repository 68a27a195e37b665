#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace sweetspot::energy {

// How far it may lie from its neighbours' for each octave between them.
inline constexpr double power_deviation_per_octave = 0.03;
// An answer that turns out to be slower than was allowed loses as much as this share of energy, and
// what it is too slow by.
inline constexpr double price_of_slowness = 0.05;
// For a reading of power that decides: it has risen after the first, and is read over the second.
inline constexpr double power_rise_seconds = 0.25, power_reading_seconds = 0.5;
// A GPU renews its reading ten times a second: enough where energy decides nothing.
inline constexpr double device_reading_seconds = 0.12;

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

}  // namespace sweetspot::energy
