#include "probe/proc/load.h"

#include <sched.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "probe/proc/own_time.h"
#include "probe/proc/text_file.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;

// The kernel counts CPU time in hundredths of a second: over fewer of them than these, a share
// would be rounding.
constexpr std::uint64_t fewest_ticks = 20;

std::optional<std::uint64_t> pressure(const fs::path& root) {
  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=2713553810"
  std::istringstream lines(read_text(root / "proc/pressure/cpu").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t total = line.find("total=");
    if (line.starts_with("some") && total != line.npos) {
      std::istringstream digits(line.substr(total + 6));
      if (std::uint64_t value = 0; digits >> value) return value;
    }
  }
  return std::nullopt;
}

void read_cpu_time(const fs::path& root, const std::vector<int>& cpus, Load& load) {
  std::set<std::string> wanted;
  for (const int cpu : cpus) wanted.insert("cpu" + std::to_string(cpu));
  if (wanted.empty()) wanted.insert("cpu");  // the sum of all
  std::istringstream lines(read_text(root / "proc/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    // Guests' time is in user and nice already.
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0,
                  steal = 0;
    if (!(words >> name) || !wanted.contains(name)) continue;
    if (!(words >> user >> nice >> system >> idle >> waiting >> irq >> soft)) continue;
    if (!(words >> steal)) steal = 0;  // old kernels have none
    const std::uint64_t busy = user + nice + system + irq + soft + steal;
    load.busy_ticks = load.busy_ticks.value_or(0) + busy;
    load.all_ticks = load.all_ticks.value_or(0) + busy + idle + waiting;
  }
}

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

Load load(const fs::path& root, const std::vector<int>& cpus) {
  Load load;
  load.pressure_us = pressure(root);
  read_cpu_time(root, cpus, load);
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
  if (busy && all && own && *all >= fewest_ticks)
    found.other_cpu_share =
        static_cast<double>(*busy - std::min(*busy, *own)) / static_cast<double>(*all);
  return found;
}

}  // namespace sweetspot::probe::proc
