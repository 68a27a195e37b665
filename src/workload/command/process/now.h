#pragma once
#include <time.h>

namespace sweetspot::workload::command::process {

// Of the clock that only goes forward, and that a program's own stamps are of.
inline double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace sweetspot::workload::command::process
