#include "probe/proc/load.h"

#include <algorithm>

#include "probe/proc/own_time.h"
#include "probe/proc/pressure.h"

namespace sweetspot::probe::proc {
namespace {

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
