#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "probe/gpu.h"
#include "trial/trial.h"

namespace sweetspot::telemetry {

// Other users of a trial's device, and throttling.
struct GpuContention {
  std::optional<double> other_share;  // other processes' share of the device's time
  std::optional<core::Bytes> other_memory;
  bool others_uncounted = false;  // others are present, with an unknown share
  probe::gpu::Throttle throttle;
  GpuContention& operator|=(const GpuContention& more);  // the worse of two devices
};

// Reads a trial's device while the trial runs. Used by one thread at a time.
class Meter {
 public:
  virtual ~Meter() = default;
  // The device now, or since the previous reading; without a time.
  virtual trial::Reading read() = 0;
  // An energy counter, and its update interval.
  virtual std::optional<double> energy_joules() = 0;
  virtual double energy_interval_seconds() const = 0;
  // Since construction. Takes milliseconds: not during steps that count.
  virtual GpuContention gpu_contention() { return {}; }
  // The mean since the previous call.
  virtual std::optional<double> core_clock_mhz() { return std::nullopt; }
};

// All usable cores, by all processes; the memory of this process; the packages' power.
std::unique_ptr<Meter> make_cpu_meter();
// `gpu` must outlive it. `is_own`: whether a process is one of the trial's.
std::unique_ptr<Meter> make_gpu_meter(const probe::gpu::Gpu& gpu,
                                      std::function<bool(std::int64_t pid)> is_own);

}  // namespace sweetspot::telemetry
