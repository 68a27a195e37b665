#include "workload/steps_per_call.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::workload {
namespace {

// Aims slightly higher, so that noise does not change the number repeatedly.
constexpr double aimed_share = 1.5;
// The first calls may have any speed: the number grows in bounded steps.
constexpr double most_growth = 16;
// A callback that does nothing must not be called with unbounded steps.
constexpr std::int64_t most_steps = 1 << 20;

}  // namespace

void StepsPerCall::took(double seconds) {
  if (seconds >= least_seconds_) return;
  const double aimed = aimed_share * least_seconds_;
  const double growth = std::min(most_growth, aimed / std::max(seconds, 1e-9));
  const auto steps = static_cast<std::int64_t>(std::ceil(static_cast<double>(steps_) * growth));
  steps_ = std::min(steps, most_steps);
}

}  // namespace sweetspot::workload
