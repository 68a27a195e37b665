#include "telemetry/contention.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sweetspot::telemetry {
namespace {

constexpr double disturbing_share = 0.1, noticeable_share = 0.05, noticeable_wait_share = 0.2;

int percent(double share) { return static_cast<int>(100 * share + 0.5); }

void note(trial::Contention& contention, const std::string& why) {
  contention.contended = true;
  contention.reason += (contention.reason.empty() ? "" : "; ") + why;
}

// With fewer readings the machine's best speed is unknown.
constexpr std::size_t least_moments = 10;
constexpr double slow_additions = 0.94, slow_exchange = 0.6;

// The speed that a tenth of the readings reach.
double usual_best(std::span<const probe::cpu::SpeedReading> moments,
                  double probe::cpu::SpeedReading::*part) {
  std::vector<double> values;
  for (const probe::cpu::SpeedReading& moment : moments) values.push_back(moment.*part);
  const auto place = static_cast<std::ptrdiff_t>(values.size() / 10);
  std::ranges::nth_element(values, values.begin() + place, std::greater());
  return values[static_cast<std::size_t>(place)];
}

}  // namespace

GpuContention& GpuContention::operator|=(const GpuContention& more) {
  if (more.other_share) other_share = std::max(other_share.value_or(0), *more.other_share);
  if (more.other_memory) other_memory = std::max(other_memory.value_or(0), *more.other_memory);
  others_uncounted |= more.others_uncounted;
  throttle |= more.throttle;
  return *this;
}

Look look(Machine& machine) {
  Look look;
  look.load = machine.load();
  look.now = machine.now();
  return look;
}

trial::Contention contention(const Look& before, const Look& after) {
  const probe::proc::Disturbance found =
      probe::proc::between(before.load, after.load, after.now - before.now);
  trial::Contention contention;
  contention.cpu_pressure_share = found.pressure_share;
  contention.other_cpu_share = found.other_cpu_share;
  const double others = found.other_cpu_share.value_or(0);
  const double waited = found.pressure_share.value_or(0);
  if (others > disturbing_share)
    note(contention, fmt::format("other processes took {}% of the CPUs' time", percent(others)));
  else if (waited > disturbing_share && others > noticeable_share)
    note(contention, fmt::format("tasks waited for a CPU {}% of the time, and other processes took "
                                 "{}% of the CPUs' time",
                                 percent(waited), percent(others)));
  return contention;
}

void add(const GpuContention& gpu_contention, trial::Contention& contention) {
  contention.other_gpu_share = gpu_contention.other_share;
  contention.other_gpu_memory = gpu_contention.other_memory;
  contention.gpu_throttle = words(gpu_contention.throttle);
  if (gpu_contention.other_share.value_or(0) > noticeable_share)
    note(contention, fmt::format("other processes used the GPU {}% of the time",
                                 percent(*gpu_contention.other_share)));
  else if (gpu_contention.others_uncounted)
    note(contention, "other processes were on the GPU");
  if (gpu_contention.throttle.is_disturbance())
    note(contention, fmt::format("the GPU was throttled ({})", words(gpu_contention.throttle)));
}

WaitMonitor::WaitMonitor(Machine& machine)
    : machine_(machine), scheduling_(machine.scheduling()), since_(machine.now()) {}

bool WaitMonitor::was_kept_waiting() {
  if (!scheduling_) return false;
  const double now = machine_.now();
  const auto after = machine_.scheduling();
  const bool waited = after && probe::proc::taken_by_others(*scheduling_, *after, now - since_) >
                                   noticeable_wait_share;
  scheduling_ = after, since_ = now;
  return waited;
}

std::vector<bool> slow_moments(std::span<const probe::cpu::SpeedReading> moments) {
  std::vector<bool> slow(moments.size());
  if (moments.size() < least_moments) return slow;
  using probe::cpu::SpeedReading;
  const double additions = usual_best(moments, &SpeedReading::additions_per_second);
  const double exchange = usual_best(moments, &SpeedReading::exchange_bytes_per_second);
  for (std::size_t i = 0; i < moments.size(); ++i)
    slow[i] = moments[i].additions_per_second < slow_additions * additions ||
              moments[i].exchange_bytes_per_second < slow_exchange * exchange;
  return slow;
}

std::optional<double> slowed_share(std::span<const probe::cpu::SpeedReading> moments) {
  if (moments.size() < least_moments) return std::nullopt;
  return static_cast<double>(std::ranges::count(slow_moments(moments), true)) /
         static_cast<double>(moments.size());
}

}  // namespace sweetspot::telemetry
