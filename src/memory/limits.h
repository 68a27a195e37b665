#pragma once
#include <optional>
#include <span>

#include "trial/trial.h"

namespace sweetspot::memory {

// What a batch may take.
struct Limits {
  // Of the device of a native workload; for a program, the host's. The margin is already
  // subtracted.
  std::optional<core::Bytes> limit{};
  // For a program that turns out to compute on GPUs: the limit on each, and the usable share of
  // what was free there.
  std::optional<core::Bytes> gpu_limit{};
  double gpu_share = 1;
  bool operator==(const Limits&) const = default;
};

// The limit for these trials: for a program on GPUs, what it may take of the fullest of them, which
// is known once a trial has shown it.
std::optional<core::Bytes> allowed(std::span<const trial::Trial> trials, const Limits& limits);

}  // namespace sweetspot::memory
