#pragma once
#include <cstdint>
#include <optional>

#include "core/interval.h"

namespace sweetspot::trial {

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
