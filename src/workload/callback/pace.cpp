#include "workload/callback/pace.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::workload::callback {
namespace {

// Two readings of the clock and a std::function take some 50 ns: 0.005% of this.
constexpr double least_call_seconds = 1e-3;
// Aims a little higher, so that noise does not change the number again and again.
constexpr double aimed_call_seconds = 1.5e-3;
// The first calls may be of any speed: what they say is believed step by step.
constexpr double most_growth = 16;
// A callback that does nothing must not be asked to do it for ever.
constexpr std::int64_t most_steps = 1 << 20;

}  // namespace

void Pace::took(double seconds) {
  if (seconds >= least_call_seconds) return;
  const double growth = std::min(most_growth, aimed_call_seconds / std::max(seconds, 1e-9));
  const auto steps = static_cast<std::int64_t>(std::ceil(static_cast<double>(steps_) * growth));
  steps_ = std::min(steps, most_steps);
}

}  // namespace sweetspot::workload::callback
