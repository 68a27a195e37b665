#pragma once
#include <functional>

namespace sweetspot::workload::callback {

// Calls what a program handed over. What comes out of it is Ended, with the outcome that it means;
// the unwinding of a cancelled thread goes through.
void guarded(const std::function<void()>& call);

}  // namespace sweetspot::workload::callback
