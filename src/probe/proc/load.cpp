#include "probe/proc/load.h"

#include <sched.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "probe/proc/own_use.h"
#include "probe/text_file.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;

// Hundredths of a second, over all CPUs.
constexpr std::uint64_t fewest_ticks = 4;

// The number after `key` in "some avg10=0.00 avg60=0.00 avg300=0.00 total=2713553810".
template <class Number>
std::optional<Number> value_of(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  std::istringstream digits(line.substr(at + key.size()));
  if (Number value{}; digits >> value) return value;
  return std::nullopt;
}

std::optional<double> share_of(const std::string& line) {
  const auto percent = value_of<double>(line, "avg10=");
  if (!percent) return std::nullopt;
  return *percent / 100;
}

namespace fs = std::filesystem;

// The kernel counts CPU time in hundredths of a second: over fewer of them than these, a share
// would be rounding.
constexpr std::uint64_t fewest_ticks_beside = 20;

std::optional<std::uint64_t> grown(const std::optional<std::uint64_t>& before,
                                   const std::optional<std::uint64_t>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

}  // namespace

std::vector<int> scheduled_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

CpuTime cpu_time(const fs::path& root, const std::vector<int>& cpus) {
  CpuTime time;
  std::set<std::string> wanted;
  for (const int cpu : cpus) wanted.insert("cpu" + std::to_string(cpu));
  if (wanted.empty()) wanted.insert("cpu");  // the sum of all
  std::istringstream lines(read_text(root / "proc/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    // Guest time is already included in user and nice.
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0,
                  steal = 0;
    if (!(words >> name) || !wanted.contains(name)) continue;
    if (!(words >> user >> nice >> system >> idle >> waiting >> irq >> soft)) continue;
    if (!(words >> steal)) steal = 0;  // old kernels have none
    const std::uint64_t busy = user + nice + system + irq + soft + steal;
    time.busy_ticks = time.busy_ticks.value_or(0) + busy;
    time.all_ticks = time.all_ticks.value_or(0) + busy + idle + waiting;
  }
  return time;
}

std::optional<double> busy_share(const CpuTime& before, const CpuTime& after) {
  if (!before.all_ticks || !after.all_ticks ||
      *after.all_ticks < *before.all_ticks + fewest_ticks || *after.busy_ticks < *before.busy_ticks)
    return std::nullopt;
  return static_cast<double>(*after.busy_ticks - *before.busy_ticks) /
         static_cast<double>(*after.all_ticks - *before.all_ticks);
}

Pressure pressure(const std::string& resource, const std::filesystem::path& root) {
  Pressure found;
  std::istringstream lines(read_text(root / "proc/pressure" / resource).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("some")) {
      found.some_share = share_of(line);
      found.some_total_us = value_of<std::uint64_t>(line, "total=");
    } else if (line.starts_with("full")) {
      found.full_share = share_of(line);
    }
  }
  return found;
}

Load load(const fs::path& root, const std::vector<int>& cpus) {
  Load load;
  load.pressure_us = pressure("cpu", root).some_total_us;
  const CpuTime time = cpu_time(root, cpus);
  load.busy_ticks = time.busy_ticks, load.all_ticks = time.all_ticks;
  load.own_ticks = own_time(root);
  return load;
}

Disturbance between(const Load& before, const Load& after, double seconds) {
  Disturbance found;
  const auto waited = grown(before.pressure_us, after.pressure_us);
  if (waited && seconds > 0)
    found.pressure_share = std::min(1.0, static_cast<double>(*waited) / 1e6 / seconds);
  const auto busy = grown(before.busy_ticks, after.busy_ticks);
  const auto all = grown(before.all_ticks, after.all_ticks);
  const auto own = grown(before.own_ticks, after.own_ticks);
  if (busy && all && own && *all >= fewest_ticks_beside)
    found.other_cpu_share =
        static_cast<double>(*busy - std::min(*busy, *own)) / static_cast<double>(*all);
  return found;
}

}  // namespace sweetspot::probe::proc
