#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.h"

namespace sweetspot::stats {

// mean·(1 + deviation·x) with x an AR(1) series of unit variance.
inline std::vector<double> correlated_series(std::uint32_t run, std::size_t count, double mean,
                                             double deviation, double correlation) {
  const core::Random random(7, core::Purpose::synthetic, run);
  std::vector<double> values(count);
  double x = random.normal(0);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = mean * (1 + deviation * x);
    x = correlation * x + std::sqrt(1 - correlation * correlation) * random.normal(i + 1);
  }
  return values;
}

}  // namespace sweetspot::stats
