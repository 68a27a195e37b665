#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/contention.h"
#include "telemetry/recorder.h"

namespace sweetspot::telemetry {

// The readings of one trial: of its devices, from when each is added, and of what else used them
// and the machine during the steps that count.
class TrialReadings {
 public:
  TrialReadings(Machine& machine, double trial_started)
      : machine_(machine), trial_started_(trial_started) {}

  // A device of this process: "cpu", "cuda:0". Of a program with its own processes and no GPU, the
  // CPU: its meter does not read their memory.
  void add(const std::string& device, bool of_program = false);
  // A GPU of a program with its own processes.
  void add_gpu(const std::string& device, std::shared_ptr<const probe::gpu::Gpu> gpu,
               std::function<bool(std::int64_t pid)> is_own);

  // Around the steps that count.
  void begin_steps();
  trial::Contention end_steps();
  // No further reading: the processes end.
  void stop();
  // Stores the trace and the energy in the trial, and the readings of each GPU that it names; the
  // trace is that of the fullest.
  void tell(trial::Trial& trial);

 private:
  struct Device {
    std::string name;
    std::shared_ptr<const probe::gpu::Gpu> gpu;  // of a program
    std::unique_ptr<Recorder> recorder;
  };

  Machine& machine_;
  const double trial_started_;
  std::vector<Device> devices_;
  bool of_program_ = false;
  Look began_;
};

}  // namespace sweetspot::telemetry
