#include "stats/moments.h"

#include <cmath>

namespace sweetspot::stats {

Moments::Moments(std::span<const double> values) {
  for (double value : values) add(value);
}

void Moments::add(double value) {
  const double before = value - mean_;
  mean_ += before / static_cast<double>(++count_);
  squares_ += before * (value - mean_);
}

std::optional<double> Moments::variance() const {
  if (count_ < 2) return std::nullopt;
  return squares_ / static_cast<double>(count_ - 1);
}

std::optional<double> Moments::stddev() const {
  const auto squared = variance();
  if (!squared) return std::nullopt;
  return std::sqrt(*squared);
}

}  // namespace sweetspot::stats
