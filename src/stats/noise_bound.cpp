#include "stats/noise_bound.h"

#include <cmath>

namespace sweetspot::stats {

void NoiseBound::add(const GradientNorms& norms) {
  const auto moments = gradient_moments(norms);
  if (!moments) return;
  gradient_squared_.add(moments->gradient_squared);
  trace_.add(moments->trace);
}

std::optional<double> NoiseBound::at_least() const {
  constexpr std::int64_t fewest = 8;
  constexpr double one_sided_95 = 1.645;
  if (gradient_squared_.count() < fewest || trace_.mean() <= 0) return std::nullopt;
  const double error =
      *gradient_squared_.stddev() / std::sqrt(static_cast<double>(gradient_squared_.count()));
  const double most_gradient = gradient_squared_.mean() + one_sided_95 * error;
  if (most_gradient <= 0) return std::nullopt;
  return trace_.mean() / most_gradient;
}

}  // namespace sweetspot::stats
