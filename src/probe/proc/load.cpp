#include "probe/proc/load.h"

#include <algorithm>
#include <sstream>

#include "probe/proc/own_use.h"
#include "probe/text_file.h"

namespace sweetspot::probe::proc {
namespace {

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

}  // namespace

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
