#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sweetspot::probe::proc {

// CPUs this process may be scheduled on; empty when that is unknown.
std::vector<int> scheduled_cpus();

// Counters that only grow, in the kernel's ticks, whoever used the CPUs.
struct CpuTime {
  std::optional<std::uint64_t> busy_ticks, all_ticks;
};
// Of the given CPUs, or of all of them when none are given: in a container /proc/stat shows the
// whole host, most of which is nothing to us.
CpuTime cpu_time(const std::filesystem::path& root = "/",
                 const std::vector<int>& cpus = scheduled_cpus());

// The busy share of the time between two readings; nothing over so few ticks that it would be
// rounding.
std::optional<double> busy_share(const CpuTime& before, const CpuTime& after);

}  // namespace sweetspot::probe::proc
