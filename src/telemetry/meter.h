#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "probe/gpu.h"
#include "trial/trial.h"

namespace sweetspot::telemetry {

// Who else was on a trial's device, and what held it back.
struct GpuContention {
  std::optional<double> other_share;  // of the device's time, that other processes had
  std::optional<core::Bytes> other_memory;
  bool others_uncounted = false;  // others are there, and their share is not known
  probe::gpu::Throttle throttle;
  GpuContention& operator|=(const GpuContention& more);  // the worse of two devices
};

// Reads a trial's device while the trial runs. Used by one thread at a time.
class Meter {
 public:
  virtual ~Meter() = default;
  // The device now, or since the reading before; without a time.
  virtual trial::Reading read() = 0;
  // A counter of energy, and how often it is brought up to date.
  virtual std::optional<double> energy_joules() = 0;
  virtual double energy_interval_seconds() const = 0;
  // Since the meter was made. Takes milliseconds: not beside steps that count.
  virtual GpuContention gpu_contention() { return {}; }
  // The mean of those seen since this was asked last.
  virtual std::optional<double> core_clock_mhz() { return std::nullopt; }
};

// All cores that may be used, whoever uses them; the memory of this process; the packages' power.
std::unique_ptr<Meter> make_cpu_meter();
// `gpu` must outlive it. `is_own`: whether a process is one of the trial's.
std::unique_ptr<Meter> make_gpu_meter(const probe::gpu::Gpu& gpu,
                                      std::function<bool(std::int64_t pid)> is_own);

}  // namespace sweetspot::telemetry
