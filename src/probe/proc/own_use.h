#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::probe::proc {

// The memory of this process now.
std::optional<core::Bytes> own_memory(const std::filesystem::path& root = "/");
// Resets its peak, after freed memory is returned to the system. False if the kernel does not allow
// it: then the peak is of the process's whole life.
bool restart_own_peak();
std::optional<core::Bytes> own_peak();

// The numbers of this process, or the one below, and of everything they have started; "self" for
// this process. If the kernel does not list children, of the first one alone.
std::vector<std::string> own_processes(const std::filesystem::path& root = "/");

// CPU time in the kernel's ticks of this process and everything it has started, including dead ones
// that were waited for.
std::optional<std::uint64_t> own_time(const std::filesystem::path& root);

// From now on this process, which started ours, and what else it started count as our own: it does
// the training, or ranks that train with us.
void count_as_own(pid_t caller);
bool counts_caller_as_own();

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
