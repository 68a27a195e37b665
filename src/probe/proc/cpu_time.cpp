#include "probe/proc/cpu_time.h"

#include <sched.h>

#include <set>
#include <sstream>
#include <string>

#include "probe/text_file.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;

// Hundredths of a second, over all CPUs.
constexpr std::uint64_t fewest_ticks = 4;

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

}  // namespace sweetspot::probe::proc
