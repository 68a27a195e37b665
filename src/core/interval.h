#pragma once

namespace sweetspot::core {

// An estimate with its 95% interval.
struct Interval {
  double mean = 0, low = 0, high = 0;
  double half_width_share() const { return (high - low) / 2 / mean; }
  bool operator==(const Interval&) const = default;
};

}  // namespace sweetspot::core
