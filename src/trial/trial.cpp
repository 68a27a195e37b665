#include "trial/trial.h"

namespace sweetspot::trial {
namespace {

constexpr std::array<std::string_view, 7> outcomes{
    "ok", "out_of_memory", "timed_out", "crashed", "killed", "refused", "cancelled"};
constexpr std::array<std::string_view, 5> stop_reasons{"precise", "noise_floor", "max_steps",
                                                       "time_limit", "ended"};
constexpr std::array<std::string_view, phase_count> phases{"data_wait", "forward", "backward",
                                                           "optimizer", "overhead"};

template <class Enum, std::size_t n>
std::optional<Enum> named(const std::array<std::string_view, n>& all, std::string_view text) {
  for (std::size_t i = 0; i < n; ++i)
    if (all[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; }
std::string_view name(StopReason reason) { return stop_reasons[static_cast<std::size_t>(reason)]; }
std::string_view name(Phase phase) { return phases[static_cast<std::size_t>(phase)]; }

std::optional<Outcome> outcome_named(std::string_view text) {
  return named<Outcome>(outcomes, text);
}
std::optional<StopReason> stop_reason_named(std::string_view text) {
  return named<StopReason>(stop_reasons, text);
}

StepsFrom StepsFrom::client(const std::string& name) {
  return name.empty() ? "client" : "client (" + name + ")";
}

// What follows "client" is its own name, whatever that contains.
StepsFrom::Kind StepsFrom::kind() const {
  if (text.empty()) return Kind::engine;
  if (text == "callback") return Kind::callback;
  if (text.starts_with("client")) return Kind::client;
  if (text.starts_with("log lines") || text == "--steps-regex") return Kind::log_lines;
  return text == "whole runs" ? Kind::whole_runs : Kind::bar;
}

bool is_block(const Step& step) {
  return step.round > 0 && !step.warm_up && step.seconds > 0 && step.samples > 0;
}

std::optional<double> generalisation_gap(const Trial& trial) {
  if (!trial.end_train_loss || trial.epochs.empty() || !trial.epochs.back().test_loss)
    return std::nullopt;
  return *trial.epochs.back().test_loss - *trial.end_train_loss;
}

std::optional<double> joules_per_sample(const Trial& trial) {
  if (!trial.energy_joules || trial.energy_samples.value_or(0) <= 0) return std::nullopt;
  return *trial.energy_joules / static_cast<double>(*trial.energy_samples);
}

const GpuUse* fullest(const std::vector<GpuUse>& gpus) {
  const auto share = [](const GpuUse& gpu) {
    const auto free = static_cast<double>(gpu.memory_free.value_or(0));
    const auto peak = static_cast<double>(*gpu.memory_peak);
    return free > 0 ? peak / free : peak;
  };
  const GpuUse* found = nullptr;
  for (const GpuUse& gpu : gpus)
    if (gpu.memory_peak && (!found || share(gpu) > share(*found))) found = &gpu;
  return found;
}

std::string device_of(const std::vector<GpuUse>& gpus) {
  std::string device;
  for (const GpuUse& gpu : gpus)
    device += device.empty() ? gpu.device : "," + gpu.device.substr(gpu.device.find(':') + 1);
  return device;
}

bool on_gpu(std::string_view device) { return device.starts_with("cuda"); }

std::string full_name(const GpuUse& gpu) {
  return gpu.name.empty() ? gpu.device : gpu.device + " (" + gpu.name + ")";
}

}  // namespace sweetspot::trial
