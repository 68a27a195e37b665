#pragma once
#include <cstdint>

namespace sweetspot::workload::callback {

// How many weight updates to ask for in one call: as many as make it long enough that the clock and
// the call cost nothing. Only upwards: a call that was slow for once must not undo it.
class Pace {
 public:
  std::int64_t steps() const { return steps_; }
  void took(double seconds);  // the last call, with steps()

 private:
  std::int64_t steps_ = 1;
};

}  // namespace sweetspot::workload::callback
