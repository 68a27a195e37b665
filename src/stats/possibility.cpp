#include "stats/possibility.h"

#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {

Summary summary(std::span<const Possibility> possibilities) {
  double mean = 0, variance = 0;
  for (const Possibility& one : possibilities) mean += one.weight * one.mean;
  for (const Possibility& one : possibilities)
    variance +=
        one.weight * (one.deviation * one.deviation + (one.mean - mean) * (one.mean - mean));
  return {mean, std::sqrt(variance)};
}

double probability_above(std::span<const Possibility> possibilities, double level) {
  double probability = 0;
  for (const Possibility& one : possibilities) {
    if (one.deviation > 0)
      probability += one.weight * normal_below((one.mean - level) / one.deviation);
    else if (one.mean > level)
      probability += one.weight;
  }
  return probability;
}

double expected_excess(std::span<const Possibility> possibilities, double level) {
  double excess = 0;
  for (const Possibility& one : possibilities) {
    const double over = one.mean - level;
    if (one.deviation > 0) {
      const double z = over / one.deviation;
      excess += one.weight * (one.deviation * normal_density(z) + over * normal_below(z));
    } else if (over > 0) {
      excess += one.weight * over;
    }
  }
  return excess;
}

}  // namespace sweetspot::stats
