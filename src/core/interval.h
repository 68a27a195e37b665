#pragma once
#include <string>

namespace sweetspot::core {

// An estimate with its 95% interval.
struct Interval {
  double mean = 0, low = 0, high = 0;
  double half_width_share() const { return (high - low) / 2 / mean; }
  bool operator==(const Interval&) const = default;
};

// The half-widths of an interval: "±0.12", or "+1.81/−2.40" if the two differ by more than one in
// the last digit; "±–" if unknown.
std::string format_interval(double up, double down, int digits);
// The same relative to the mean: "±2.6%", "+112/−6.2%".
std::string format_interval_percent(double mean, double low, double high);

}  // namespace sweetspot::core
