#pragma once
#include <functional>
#include <string_view>

namespace sweetspot::workload::callback {

// Calls what a program handed over. What comes out of it is Ended, with the outcome that it means;
// the unwinding of a cancelled thread goes through.
void guarded(const std::function<void()>& call);

// Frameworks tell of a lack of memory in exceptions of their own, which only their text tells
// apart.
bool tells_of_memory(std::string_view message);

}  // namespace sweetspot::workload::callback
