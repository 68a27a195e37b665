#include "report/over_seeds.h"

#include <algorithm>
#include <limits>

#include "stats/independent.h"

namespace sweetspot::report {
namespace {

std::optional<stats::Interval> mean_between(std::span<const double> values, double least,
                                            double most) {
  auto found = stats::independent_mean(values);
  if (!found) return found;
  found->low = std::max(found->low, least), found->high = std::min(found->high, most);
  return found;
}

}  // namespace

std::optional<stats::Interval> mean_share(std::span<const double> values) {
  return mean_between(values, 0, 1);
}

std::optional<stats::Interval> mean_seconds(std::span<const double> values) {
  return mean_between(values, 0, std::numeric_limits<double>::infinity());
}

}  // namespace sweetspot::report
