#pragma once
#include <filesystem>
#include <optional>

namespace sweetspot::probe::proc {

// What the scheduler did with this process's threads: counters that only grow, over all threads.
struct Scheduling {
  double ran_seconds = 0;
  double waited_seconds = 0;  // in a run queue: ready to run, while another thread had the CPU
  int cores = 1;              // that the process may use
};
// Nothing where the kernel does not count it (schedstat).
std::optional<Scheduling> own_scheduling(const std::filesystem::path& root = "/");

// How long threads waited for a CPU that another process had, as a share of the time between two
// readings: 1 is one CPU all the time. Threads that wait for each other fill their cores meanwhile;
// what they leave of them is what others took.
double taken_by_others(const Scheduling& before, const Scheduling& after, double seconds);

}  // namespace sweetspot::probe::proc
