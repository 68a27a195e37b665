#pragma once
#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "trial/setting_fields.h"
#include "trial/trial.h"

namespace sweetspot::store {

// The fields of what is stored as JSON (trial_json.h), each declared once: visit(name, field) is
// called for each, whether it is written or read.
template <class T, class Of>
concept Some = std::same_as<std::remove_const_t<T>, Of>;

void each_field(Some<trial::Setting> auto& setting, auto&& visit) {
  for (const trial::SettingField& field : trial::setting_fields())
    field.in(setting, [&](auto& its) { visit(field.key, its); });
}

// Numbers that are stored as a list: phases in the order of trial::Phase, memory in that of
// core::Use.
auto numbers_of(Some<trial::Interval> auto& interval) {
  return std::tie(interval.mean, interval.low, interval.high);
}
auto& numbers_of(Some<trial::PhaseSeconds> auto& phases) { return phases; }
auto& numbers_of(Some<core::MemoryByUse> auto& memory) { return memory.bytes; }

void each_field(Some<trial::Contention> auto& contention, auto&& visit) {
  visit("cpu_pressure_share", contention.cpu_pressure_share);
  visit("other_cpu_share", contention.other_cpu_share);
  visit("slowed_share", contention.slowed_share);
  visit("other_gpu_share", contention.other_gpu_share);
  visit("other_gpu_memory_bytes", contention.other_gpu_memory);
  visit("gpu_throttle", contention.gpu_throttle);
  visit("contended", contention.contended);
  visit("reason", contention.reason);
}

void each_field(Some<trial::GpuUse> auto& gpu, auto&& visit) {
  visit("device", gpu.device);
  visit("name", gpu.name);
  visit("memory_peak_bytes", gpu.memory_peak);
  visit("memory_free_bytes", gpu.memory_free);
  visit("memory_source", gpu.memory_source);
  visit("utilisation_share", gpu.utilisation_share);
  visit("power_watts", gpu.power_watts);
  visit("energy_joules", gpu.energy_joules);
  visit("core_clock_mhz", gpu.core_clock_mhz);
}

void each_field(Some<trial::Loss> auto& loss, auto&& visit) {
  visit("step", loss.step);
  visit("value", loss.value);
}

void each_field(Some<trial::Epoch> auto& epoch, auto&& visit) {
  visit("epoch", epoch.epoch);
  visit("train_seconds", epoch.train_seconds);
  visit("train_loss", epoch.train_loss);
  visit("train_accuracy", epoch.train_accuracy);
  visit("test_loss", epoch.test_loss);
  visit("test_accuracy", epoch.test_accuracy);
  visit("noise_scale", epoch.noise_scale);
}

void each_field(Some<trial::Evaluation> auto& evaluation, auto&& visit) {
  visit("steps", evaluation.steps);
  visit("samples", evaluation.samples);
  visit("train_seconds", evaluation.train_seconds);
  visit("test_loss", evaluation.test_loss);
  visit("test_accuracy", evaluation.test_accuracy);
  visit("noise_scale", evaluation.noise_scale);
}

// Without raw steps and traces, which are bytes (step_blob.h).
void each_field(Some<trial::Trial> auto& trial, auto&& visit) {
  visit("setting", trial.setting);
  visit("device", trial.device);
  visit("outcome", trial.outcome);
  visit("stop_reason", trial.stop_reason);
  visit("samples_per_second", trial.samples_per_second);
  visit("step_seconds_median", trial.step_seconds_median);
  visit("steps", trial.steps);
  visit("timings", trial.timings);
  visit("warm_up_steps", trial.warm_up_steps);
  visit("outlier_steps", trial.outlier_steps);
  visit("samples_seen", trial.samples_seen);
  visit("steps_total", trial.steps_total);
  visit("samples_per_step", trial.samples_per_step);
  visit("sample_stride", trial.sample_stride);
  visit("memory_predicted_bytes", trial.memory_predicted);
  visit("memory_measured_bytes", trial.memory_measured);
  visit("memory_by_use_bytes", trial.memory_by_use);
  visit("host_memory_bytes", trial.host_memory);
  visit("memory_capacity_bytes", trial.memory_capacity);
  visit("memory_wanted_bytes", trial.memory_wanted);
  visit("memory_margin_bytes", trial.memory_margin);
  visit("inputs_vary", trial.inputs_vary);
  visit("memory_source", trial.memory_source);
  visit("step_source", trial.step_source.text);
  visit("in_same_process", trial.in_same_process);
  visit("start_up_seconds", trial.start_up_seconds);
  visit("cpu_seconds", trial.cpu_seconds);
  visit("phase_seconds", trial.phases);
  visit("energy_joules", trial.energy_joules);
  visit("energy_samples", trial.energy_samples);
  visit("noise_scale_samples", trial.noise_scale);
  visit("sharpness", trial.sharpness);
  visit("end_train_loss", trial.end_train_loss);
  visit("contention", trial.contention);
  visit("gpus", trial.gpus);
  visit("losses", trial.losses);
  visit("epochs", trial.epochs);
  visit("evaluations", trial.evaluations);
  visit("note", trial.note);
  visit("last_output", trial.last_output);
  visit("started_at", trial.started_at);
  visit("seconds", trial.seconds);
}

}  // namespace sweetspot::store
