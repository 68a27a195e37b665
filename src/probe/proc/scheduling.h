#pragma once
#include <filesystem>
#include <optional>

namespace sweetspot::probe::proc {

// The scheduling of all threads of this process, and of ranks that train with it: they wait for
// each other's CPUs too. Monotonic counters.
struct Scheduling {
  double ran_seconds = 0;
  double waited_seconds = 0;  // in a run queue: runnable, while another thread had the CPU
  int cores = 1;              // available to the process
};
// nullopt if the kernel does not count it (schedstat).
std::optional<Scheduling> own_scheduling(const std::filesystem::path& root = "/");

// How long threads waited for a CPU that somebody else had, as a share of the time between two
// readings: 1 is one CPU all the time. Threads that wait for each other still fill their cores;
// what they leave is what others took.
double taken_by_others(const Scheduling& before, const Scheduling& after, double seconds);

}  // namespace sweetspot::probe::proc
