#include "core/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sweetspot::core {
namespace {

bool differ(double up, double down, int digits) {
  const double unit = std::pow(10, -digits);
  return std::abs(std::round(up / unit) - std::round(down / unit)) > 1;
}

// From ten on, tenths do not matter.
int digits_of(double percent) { return percent < 10 ? 1 : 0; }

constexpr const char* unknown_reach = "±–";

}  // namespace

std::string format_interval(double up, double down, int digits) {
  if (!std::isfinite(up) || !std::isfinite(down)) return unknown_reach;
  if (!differ(up, down, digits)) return fmt::format("±{:.{}f}", std::max(up, down), digits);
  return fmt::format("+{:.{}f}/−{:.{}f}", up, digits, down, digits);
}

std::string format_interval_percent(double mean, double low, double high) {
  const double up = 100 * (high - mean) / mean, down = 100 * (mean - low) / mean;
  if (!std::isfinite(up) || !std::isfinite(down)) return unknown_reach;
  const int digits = digits_of(std::max(up, down));
  if (!differ(up, down, digits)) return format_interval(up, down, digits) + "%";
  return fmt::format("+{:.{}f}/−{:.{}f}%", up, digits_of(up), down, digits_of(down));
}

}  // namespace sweetspot::core
