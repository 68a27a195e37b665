#pragma once
#include <chrono>

namespace sweetspot::probe::cpu {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace sweetspot::probe::cpu
