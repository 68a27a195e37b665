#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sweetspot::probe::proc {

// CPUs this process may be scheduled on; empty when that is unknown.
std::vector<int> scheduled_cpus();

// Counters that only grow: two readings tell what happened between them.
struct Load {
  std::optional<std::uint64_t> pressure_us;            // some task waited for a CPU (PSI)
  std::optional<std::uint64_t> busy_ticks, all_ticks;  // of the CPUs, whoever used them
  std::optional<std::uint64_t> own_ticks;              // of this process and those it started
};
// Of the given CPUs, or of all of them when none are given: in a container /proc/stat shows the
// whole host, most of which cannot disturb us.
Load load(const std::filesystem::path& root = "/", const std::vector<int>& cpus = scheduled_cpus());

// What happened between two readings.
struct Disturbance {
  std::optional<double> pressure_share;   // of the time, some task waited for a CPU
  std::optional<double> other_cpu_share;  // CPU time of others, as a share of the CPUs' time
};
Disturbance between(const Load& before, const Load& after, double seconds);

}  // namespace sweetspot::probe::proc
