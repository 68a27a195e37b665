#pragma once
#include <string>

namespace sweetspot::core {

// How far an interval reaches above and below its estimate: "±0.12", or "+1.81/−2.40" where the two
// differ by more than one in the last of so many digits; "±–" where that is unknown.
std::string format_interval(double up, double down, int digits);
// The same as a share of the mean: "±2.6%", "+112/−6.2%".
std::string format_interval_percent(double mean, double low, double high);

}  // namespace sweetspot::core
