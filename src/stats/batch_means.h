#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

constexpr int min_batches_for_interval = 8;

// The 95% interval of the mean of a correlated series. Neighbouring values are averaged into
// batches, as many as leave the batch means uncorrelated (32, 16 or 8); their spread, by Student's
// t, is the interval. What correlation is left at 8 widens it. Nothing below 8 values.
std::optional<Interval> mean_interval(std::span<const double> values);

// The 95% interval of samples per second over steps of these seconds and samples: total samples by
// total seconds, with the interval of the seconds per sample. Multiplicative, so that its low end
// is positive whatever the noise. Nothing below 8 steps, or when no time passed.
std::optional<Interval> throughput_interval(std::span<const double> seconds,
                                            std::span<const std::int64_t> samples);

}  // namespace sweetspot::stats
