#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "telemetry/machine.h"
#include "telemetry/meter.h"

namespace sweetspot::telemetry {

// Reads a trial's device during its steps, on its own thread: immediately, at the machine's
// interval, when the sampled steps begin and end, and at the end.
class Recorder {
 public:
  Recorder(std::unique_ptr<Meter> meter, Machine& machine, double trial_started);
  ~Recorder() { stop(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Around the steps whose energy counts.
  void begin_steps();
  void end_steps();
  // After those steps.
  const GpuContention& gpu_contention() const { return gpu_contention_; }
  // The device's readings over them.
  void tell(trial::GpuUse& use) const;
  void stop();  // takes the last reading and ends the thread
  // Stops, and stores the trace and the energy in the trial.
  void tell(trial::Trial& trial);

 private:
  void read();
  void run();
  void thin_out();
  std::optional<double> integrated_power(double from, double to) const;

  std::unique_ptr<Meter> meter_;
  Machine& machine_;
  const double trial_started_;
  double interval_;  // of the readings between
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::vector<trial::Reading> trace_;
  std::optional<double> counter_, energy_;
  std::optional<double> clock_;
  double began_ = 0, over_ = 0;
  GpuContention gpu_contention_;
  std::thread thread_;
};

// nullptr if the device has no readings.
std::unique_ptr<Recorder> start_recorder(Machine& machine, const std::string& device,
                                         double trial_started);

}  // namespace sweetspot::telemetry
