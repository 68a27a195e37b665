#pragma once
#include <functional>

namespace sweetspot::probe::cpu {

// Runs `work(0)` … `work(threads - 1)` at once, each on a core of its own as long as there are
// enough: a scheduler that puts two of them on one core for a while would show half of the
// machine's speed.
void run_apart(int threads, const std::function<void(int member)>& work);

}  // namespace sweetspot::probe::cpu
