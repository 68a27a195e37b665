#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/interval.h"

namespace sweetspot::trial {

// The noise scale tr(Σ)/|G|² in samples, of the gradient itself and not of what Adam makes of it:
// up to about this batch a sample is worth as much as in a small one. Each is nothing where |G|²
// was not told apart from 0.
struct GradientNoise {
  std::optional<core::Interval> start;  // of fresh weights
  std::optional<core::Interval> later;  // after a short training
  double epochs = 0;                    // that it took
  bool operator==(const GradientNoise&) const = default;
};

// A few steps at one learning rate.
struct RateRun {
  double learning_rate = 0;
  std::int64_t steps = 0;      // made; it diverged at the last of them where it did
  std::optional<double> loss;  // mean over the last quarter of them; nothing: it diverged
  bool operator==(const RateRun&) const = default;
};

}  // namespace sweetspot::trial
