#include "stats/proportion.h"

#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {

Interval proportion(double share, double cases) {
  const double z2 = normal95 * normal95;
  const double centre = (share + z2 / (2 * cases)) / (1 + z2 / cases);
  const double half = normal95 / (1 + z2 / cases) *
                      std::sqrt(share * (1 - share) / cases + z2 / (4 * cases * cases));
  return {share, centre - half, centre + half};
}

}  // namespace sweetspot::stats
