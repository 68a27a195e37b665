#include "telemetry/meter.h"

#include <algorithm>
#include <chrono>

#include "probe/powercap/energy.h"
#include "probe/proc/load.h"
#include "probe/proc/own_use.h"

namespace sweetspot::telemetry {
namespace {

namespace proc = probe::proc;
using Clock = std::chrono::steady_clock;

class CpuMeter final : public Meter {
 public:
  trial::Reading read() override {
    trial::Reading reading;
    const proc::CpuTime time = proc::cpu_time("/", cpus_);
    const Clock::time_point now = Clock::now();
    const std::optional<double> joules = energy_.joules();
    reading.utilisation_share = proc::busy_share(time_, time);
    reading.memory = proc::own_memory();
    if (const double seconds = std::chrono::duration<double>(now - at_).count();
        joules && joules_ && seconds > 0)
      reading.power_watts = (*joules - *joules_) / seconds;
    // Over too few ticks for a share, the next reading covers both intervals.
    if (reading.utilisation_share || !time_.all_ticks) time_ = time;
    at_ = now, joules_ = joules;
    return reading;
  }

  std::optional<double> energy_joules() override { return energy_.joules(); }
  double energy_interval_seconds() const override { return 1e-3; }

 private:
  const std::vector<int> cpus_ = proc::scheduled_cpus();
  probe::powercap::Energy energy_;
  proc::CpuTime time_;
  Clock::time_point at_;
  std::optional<double> joules_;
};

}  // namespace

std::unique_ptr<Meter> make_cpu_meter() { return std::make_unique<CpuMeter>(); }

namespace {

using probe::gpu::Process;

// The driver updates its energy counter about this often.
constexpr double energy_interval = 0.1;

class GpuMeter final : public Meter {
 public:
  GpuMeter(const probe::gpu::Gpu& gpu, std::function<bool(std::int64_t)> is_own)
      : gpu_(gpu), is_own_(std::move(is_own)) {}

  trial::Reading read() override {
    const probe::gpu::Reading now = gpu_.read();
    if (now.throttle) throttle_ |= *now.throttle;
    if (now.core_clock_mhz) clock_sum_ += static_cast<double>(*now.core_clock_mhz), ++clocks_;
    if (!others_memory_known_) list_processes();
    trial::Reading reading;
    reading.utilisation_share = now.utilisation_share;
    reading.power_watts = now.power_watts;
    if (now.memory_used && gpu_contention_.other_memory)
      reading.memory = *now.memory_used - std::min(*now.memory_used, *gpu_contention_.other_memory);
    return reading;
  }

  std::optional<double> energy_joules() override { return gpu_.energy_joules(); }
  double energy_interval_seconds() const override { return energy_interval; }

  std::optional<double> core_clock_mhz() override {
    const auto mean = clocks_ > 0 ? std::optional(clock_sum_ / clocks_) : std::nullopt;
    clock_sum_ = clocks_ = 0;
    return mean;
  }

  GpuContention gpu_contention() override {
    list_processes();
    gpu_contention_.throttle = throttle_;
    return gpu_contention_;
  }

 private:
  // Listing takes milliseconds: readings in between use the last list.
  void list_processes() {
    others_memory_known_ = true;
    const auto processes = gpu_.processes();
    gpu_contention_ = {};
    // In a container the driver may report the host's process ids, or none: then owners are
    // unknown.
    if (!processes) return;
    std::vector<Process> others;
    for (const Process& process : *processes)
      if (!is_own_(process.pid)) others.push_back(process);
    if (others.size() == processes->size()) return;
    gpu_contention_.other_memory = 0;
    gpu_contention_.other_share = 0;
    for (const Process& process : others) {
      *gpu_contention_.other_memory += process.memory.value_or(0);
      if (!process.utilisation_share) gpu_contention_.others_uncounted = true;
      *gpu_contention_.other_share += process.utilisation_share.value_or(0);
    }
    if (gpu_contention_.others_uncounted) gpu_contention_.other_share.reset();
  }

  const probe::gpu::Gpu& gpu_;
  const std::function<bool(std::int64_t)> is_own_;
  bool others_memory_known_ = false;
  GpuContention gpu_contention_;
  probe::gpu::Throttle throttle_;
  double clock_sum_ = 0, clocks_ = 0;
};

}  // namespace

std::unique_ptr<Meter> make_gpu_meter(const probe::gpu::Gpu& gpu,
                                      std::function<bool(std::int64_t pid)> is_own) {
  return std::make_unique<GpuMeter>(gpu, std::move(is_own));
}

}  // namespace sweetspot::telemetry
