#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/interval.h"

namespace sweetspot::trial {

// The noise scale tr(Σ)/|G|² in samples, of the gradient itself and not of Adam's normalised one:
// up to about this batch a sample is worth as much as in a small one. Each is nullopt if |G|² was
// indistinguishable from 0.
struct GradientNoise {
  std::optional<core::Interval> start;             // of fresh weights
  std::optional<core::Interval> later;             // after a short training
  double epochs = 0;                               // of that training
  std::optional<std::int64_t> diverged_at_step{};  // its loss became NaN or infinite
  bool operator==(const GradientNoise&) const = default;
};

// A few steps at one learning rate.
struct RateRun {
  double learning_rate = 0;
  std::int64_t steps = 0;      // made; it may have diverged at the last of them
  std::optional<double> loss;  // mean over the last quarter of them; nullopt: it diverged
  bool operator==(const RateRun&) const = default;
};

// Ranks that train together, compared with one of them alone with its part of the batch: with
// perfect scaling they would do `ranks` times its samples.
struct Scaling {
  std::int64_t ranks = 1;
  double step_seconds = 0;   // of all together
  double alone_seconds = 0;  // of one, while the others are idle
  double apart_seconds = 0;  // of all at once, each alone: the cost of sharing a machine
  core::Interval efficiency;
  bool operator==(const Scaling&) const = default;
};

}  // namespace sweetspot::trial
