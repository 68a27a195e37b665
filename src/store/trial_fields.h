#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::store {

// The columns of a trial, each declared once: inserting, replacing and reading all use this list,
// in every store. visit(name, field) is called for each; the visitor splits what spans several
// columns (an interval, phases).
template <class Setting, class Visit>
void each_setting_field(Setting& setting, Visit&& visit) {
  visit("batch", setting.batch);
  visit("accumulation", setting.accumulation);
  visit("precision", setting.configuration.precision);
  visit("workers", setting.configuration.workers);
  visit("prefetch", setting.configuration.prefetch);
  visit("learning_rate", setting.learning_rate);
  visit("seed", setting.seed);
  visit("power_limit_watts", setting.configuration.power_limit_watts);
}

template <class Trial, class Visit>
void each_field(Trial& trial, Visit&& visit) {
  each_setting_field(trial.setting, visit);
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
  visit("memory", trial.memory_by_use);
  visit("host_memory_bytes", trial.host_memory);
  visit("memory_capacity_bytes", trial.memory_capacity);
  visit("memory_wanted_bytes", trial.memory_wanted);
  visit("memory_margin_bytes", trial.memory_margin);
  visit("inputs_vary", trial.inputs_vary);
  visit("memory_source", trial.memory_source);
  visit("step_source", trial.step_source);
  visit("start_up_seconds", trial.start_up_seconds);
  visit("cpu_seconds", trial.cpu_seconds);
  visit("phase_seconds", trial.phases);
  visit("energy_joules", trial.energy_joules);
  visit("energy_samples", trial.energy_samples);
  visit("noise_scale_samples", trial.noise_scale);
  visit("sharpness", trial.sharpness);
  visit("end_train_loss", trial.end_train_loss);
  visit("cpu_pressure_share", trial.contention.cpu_pressure_share);
  visit("other_cpu_share", trial.contention.other_cpu_share);
  visit("slowed_share", trial.contention.slowed_share);
  visit("other_gpu_share", trial.contention.other_gpu_share);
  visit("other_gpu_memory_bytes", trial.contention.other_gpu_memory);
  visit("gpu_throttle", trial.contention.gpu_throttle);
  visit("contended", trial.contention.contended);
  visit("contention_reason", trial.contention.reason);
  visit("note", trial.note);
  visit("last_output", trial.last_output);
  visit("started_at", trial.started_at);
  visit("seconds", trial.seconds);
}

// Their names, in that order: for INSERT, UPDATE and SELECT alike.
const std::vector<std::string>& trial_columns();
const std::vector<std::string>& setting_columns();

}  // namespace sweetspot::store
