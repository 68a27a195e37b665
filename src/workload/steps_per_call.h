#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sweetspot::workload {

// How many weight updates to request at once: enough that the clock and the call cost nothing. Only
// grows: a single slow call must not undo it.
class StepsPerCall {
 public:
  // Two readings of the clock and a std::function take some 50 ns: 0.005% of a millisecond.
  explicit StepsPerCall(double least_seconds = 1e-3) : least_seconds_(least_seconds) {}

  std::int64_t steps() const { return steps_; }
  // The last call, with steps().
  void took(double seconds) {
    // Aims slightly higher, so that noise does not change the number repeatedly, and grows in
    // bounded steps: the first calls may have any speed.
    constexpr double aimed_share = 1.5, most_growth = 16;
    // A callback that does nothing must not be called with unbounded steps.
    constexpr double most_steps = 1 << 20;
    if (seconds >= least_seconds_) return;
    const double growth = aimed_share * least_seconds_ / std::max(seconds, 1e-9);
    steps_ = static_cast<std::int64_t>(std::min(
        std::ceil(static_cast<double>(steps_) * std::min(most_growth, growth)), most_steps));
  }

 private:
  double least_seconds_;
  std::int64_t steps_ = 1;
};

}  // namespace sweetspot::workload
