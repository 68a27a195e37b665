#pragma once
#include <cstdint>
#include <optional>

#include "core/interval.h"

namespace sweetspot::trial {

// Ranks that train together, held against one of them alone with its part of the batch: as fast,
// they would do `ranks` times its samples.
struct Scaling {
  std::int64_t ranks = 1;
  double step_seconds = 0;   // of all together
  double alone_seconds = 0;  // of one, while the others rest
  double apart_seconds = 0;  // of all at once, each for itself: what sharing a machine costs
  core::Interval efficiency;
  bool operator==(const Scaling&) const = default;
};

}  // namespace sweetspot::trial
