#include <chrono>

#include "probe/powercap/energy.h"
#include "probe/proc/cpu_time.h"
#include "probe/proc/own_memory.h"
#include "telemetry/meter.h"

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
    // Over too few ticks for a share, the next reading is of both intervals.
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

}  // namespace sweetspot::telemetry
