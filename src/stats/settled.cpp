#include "stats/settled.h"

#include <algorithm>
#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {

double trend(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) sum += (values[i] > values[j]) - (values[i] < values[j]);
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  if (deviation <= 0 || sum == 0) return 0;
  return (sum - std::copysign(1.0, sum)) / deviation;  // −1: the sum moves in steps of two
}

bool settled(std::span<const double> values, double share) {
  constexpr std::size_t least = 6, most = 64;  // six values in order reach z = 2.6
  if (values.size() < least) return false;
  const auto window = values.last(std::clamp(values.size() / 2, least, most));
  if (std::abs(trend(window)) < 1.645) return true;
  const double before = *median(window.first(window.size() / 2));
  const double after = *median(window.last(window.size() / 2));
  return std::abs(after - before) <= share * std::abs(after);
}

}  // namespace sweetspot::stats
