#include <algorithm>

#include "measure/meter.h"

namespace sweetspot::measure {
namespace {

using probe::gpu::Process;

// The driver renews its counter of energy about this often.
constexpr double energy_interval = 0.1;

class GpuMeter final : public Meter {
 public:
  GpuMeter(const probe::gpu::Gpu& gpu, std::int64_t own_pid) : gpu_(gpu), own_pid_(own_pid) {}

  trial::Reading read() override {
    const probe::gpu::Reading now = gpu_.read();
    if (now.throttle) throttle_ |= *now.throttle;
    if (!others_memory_known_) list_processes();
    trial::Reading reading;
    reading.utilisation_share = now.utilisation_share;
    reading.power_watts = now.power_watts;
    if (now.memory_used && company_.other_memory)
      reading.memory = *now.memory_used - std::min(*now.memory_used, *company_.other_memory);
    return reading;
  }

  std::optional<double> energy_joules() override { return gpu_.energy_joules(); }
  double energy_interval_seconds() const override { return energy_interval; }

  Company company() override {
    list_processes();
    company_.throttle = throttle_;
    return company_;
  }

 private:
  // Listing takes milliseconds: readings in between rest on the last list.
  void list_processes() {
    others_memory_known_ = true;
    const auto processes = gpu_.processes();
    company_ = {};
    // In a container the driver may tell numbers of the host, or none: who is who is unknown then.
    if (!processes || std::ranges::find(*processes, own_pid_, &Process::pid) == processes->end())
      return;
    company_.other_memory = 0;
    company_.other_share = 0;
    for (const Process& process : *processes) {
      if (process.pid == own_pid_) continue;
      *company_.other_memory += process.memory.value_or(0);
      if (!process.utilisation_share) company_.others_uncounted = true;
      *company_.other_share += process.utilisation_share.value_or(0);
    }
    if (company_.others_uncounted) company_.other_share.reset();
  }

  const probe::gpu::Gpu& gpu_;
  const std::int64_t own_pid_;
  bool others_memory_known_ = false;
  Company company_;
  probe::gpu::Throttle throttle_;
};

}  // namespace

std::unique_ptr<Meter> make_gpu_meter(const probe::gpu::Gpu& gpu, std::int64_t own_pid) {
  return std::make_unique<GpuMeter>(gpu, own_pid);
}

}  // namespace sweetspot::measure
