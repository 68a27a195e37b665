#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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

// The kernel's pressure stall information (PSI) of one resource: "cpu", "memory" or "io".
struct Pressure {
  std::optional<double> some_share;            // over the last ten seconds, some task waited for it
  std::optional<double> full_share;            // every task did
  std::optional<std::uint64_t> some_total_us;  // a counter
};
Pressure pressure(const std::string& resource, const std::filesystem::path& root = "/");

// Monotonic counters: the difference of two readings counts.
struct Load {
  std::optional<std::uint64_t> pressure_us;            // some task waited for a CPU (PSI)
  std::optional<std::uint64_t> busy_ticks, all_ticks;  // of the CPUs, by all processes
  std::optional<std::uint64_t> own_ticks;              // of this process and those it started
};
// For these CPUs, as in cpu_time(): load elsewhere cannot disturb us.
Load load(const std::filesystem::path& root = "/", const std::vector<int>& cpus = scheduled_cpus());

// What happened between two readings.
struct Disturbance {
  std::optional<double> pressure_share;   // of the time, some task waited for a CPU
  std::optional<double> other_cpu_share;  // CPU time of others, as a share of the CPUs' time
};
Disturbance between(const Load& before, const Load& after, double seconds);

}  // namespace sweetspot::probe::proc
