#pragma once
#include <cstdint>

namespace sweetspot::workload {

// How many weight updates to request at once: enough that the clock and the call cost nothing. Only
// grows: a single slow call must not undo it.
class StepsPerCall {
 public:
  // Two readings of the clock and a std::function take some 50 ns: 0.005% of a millisecond.
  explicit StepsPerCall(double least_seconds = 1e-3) : least_seconds_(least_seconds) {}

  std::int64_t steps() const { return steps_; }
  void took(double seconds);  // the last call, with steps()

 private:
  double least_seconds_;
  std::int64_t steps_ = 1;
};

}  // namespace sweetspot::workload
