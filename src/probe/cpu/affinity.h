#pragma once
#include <vector>

namespace sweetspot::probe::cpu {

// The cores this process may use, from the one it is on: that one is surely not too busy for it.
std::vector<int> allowed_cores();
// Keeps the calling thread on a core. Where that is refused it runs wherever the scheduler likes.
void stay_on(int core);

}  // namespace sweetspot::probe::cpu
