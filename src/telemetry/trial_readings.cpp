#include "telemetry/trial_readings.h"

#include <algorithm>

namespace sweetspot::telemetry {

void TrialReadings::add(const std::string& device, bool of_program) {
  of_program_ = of_program;
  if (auto recorder = start_recorder(machine_, device, trial_started_))
    devices_.push_back({device, nullptr, std::move(recorder)});
}

void TrialReadings::add_gpu(const std::string& device, std::shared_ptr<const probe::gpu::Gpu> gpu,
                            std::function<bool(std::int64_t pid)> is_own) {
  auto recorder =
      std::make_unique<Recorder>(make_gpu_meter(*gpu, std::move(is_own)), machine_, trial_started_);
  devices_.push_back({device, std::move(gpu), std::move(recorder)});
}

void TrialReadings::begin_steps() {
  began_ = look(machine_);
  for (Device& device : devices_) device.recorder->begin_steps();
}

trial::Contention TrialReadings::end_steps() {
  GpuContention gpu_contention;
  for (Device& device : devices_) {
    device.recorder->end_steps();
    gpu_contention |= device.recorder->gpu_contention();
  }
  trial::Contention found = contention(began_, look(machine_));
  if (!devices_.empty()) telemetry::add(gpu_contention, found);
  return found;
}

void TrialReadings::stop() {
  for (Device& device : devices_) device.recorder->stop();
}

void TrialReadings::tell(trial::Trial& trial) {
  const trial::GpuUse* full = trial::fullest(trial.gpus);
  Device* traced = nullptr;
  std::optional<double> joules;  // of all GPUs of a program
  for (Device& device : devices_) {
    if (!device.gpu) {
      traced = &device;
      continue;
    }
    const auto use = std::ranges::find(trial.gpus, device.name, &trial::GpuUse::device);
    if (use == trial.gpus.end()) continue;
    device.recorder->tell(*use);
    if (use->energy_joules) joules = joules.value_or(0) + *use->energy_joules;
    if (!traced || (full && use->device == full->device)) traced = &device;
  }
  if (!traced) return;
  traced->recorder->tell(trial);
  if (traced->gpu) trial.energy_joules = joules;
  if (of_program_)
    for (trial::Reading& reading : trial.trace) reading.memory.reset();
}

}  // namespace sweetspot::telemetry
