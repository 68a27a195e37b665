#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace sweetspot::energy {

// The deviation from a neighbour's power per octave of distance.
inline constexpr double power_deviation_per_octave = 0.03;
// An answer that turns out to be slower than allowed loses this share of energy, plus its excess.
inline constexpr double price_of_slowness = 0.05;
// For a power reading that decides: it settles during the first, and is read over the second.
inline constexpr double power_rise_seconds = 0.25, power_reading_seconds = 0.5;
// A GPU updates its reading ten times a second: enough if energy does not decide. Such readings of
// one batch on an H200 differed by so much from study to study.
inline constexpr double device_reading_seconds = 0.12, quick_reading_deviation = 0.07;

// The power of a batch while it trains: the logarithm of the watts, and its standard deviation.
struct Power {
  double log_watts = 0, deviation = 0;
};
using Powers = std::map<std::int64_t, Power>;

// The energy of some samples in a row.
struct Reading {
  double joules_per_sample = 0;
  std::int64_t samples = 0;
};
// From the readings of a batch, and its samples per second. Those that lasted count, if there are
// any.
Power power_of(std::span<const Reading> readings, double samples_per_second);

// Power as a function of batch. It changes little from one batch to the next, however much speed
// does, so that an unread one is interpolated between its neighbours, with an error that grows with
// the distance in octaves.
//
// Log watts at each of these batches: this many draws, the same for the same readings.
std::vector<std::vector<double>> power_curves(const Powers& readings,
                                              std::span<const std::int64_t> batches, int count);

}  // namespace sweetspot::energy
