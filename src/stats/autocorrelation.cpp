#include "stats/autocorrelation.h"

#include "stats/moments.h"

namespace sweetspot::stats {

std::optional<double> lag1_autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return std::nullopt;
  const double mean = Moments(values).mean();
  double all = 0, shifted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all += (values[i] - mean) * (values[i] - mean);
    if (i > 0) shifted += (values[i] - mean) * (values[i - 1] - mean);
  }
  if (all <= 0) return std::nullopt;
  return shifted / all;
}

}  // namespace sweetspot::stats
