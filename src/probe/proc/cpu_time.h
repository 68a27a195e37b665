#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sweetspot::probe::proc {

// CPUs this process may be scheduled on; empty if unknown.
std::vector<int> scheduled_cpus();

// Monotonic counters, in the kernel's ticks, of all processes.
struct CpuTime {
  std::optional<std::uint64_t> busy_ticks, all_ticks;
};
// For the given CPUs, or for all if none are given: in a container /proc/stat shows the whole host,
// most of which is irrelevant.
CpuTime cpu_time(const std::filesystem::path& root = "/",
                 const std::vector<int>& cpus = scheduled_cpus());

// The busy share of the time between two readings; nullopt over so few ticks that it would be
// rounding.
std::optional<double> busy_share(const CpuTime& before, const CpuTime& after);

}  // namespace sweetspot::probe::proc
