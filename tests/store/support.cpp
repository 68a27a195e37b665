#include "store/support.h"

#include <gtest/gtest.h>

namespace sweetspot::tests {

using trial::Trial;

trial::StudyKey study_key(const std::string& key) { return {"paper-cnn on mnist", key}; }

trial::Environment environment(const std::string& program) {
  return {program, "a CPU with 2 cores", R"({"cpu":"a CPU","usable_cores":2})"};
}

Trial full_trial() {
  Trial trial;
  trial.setting = {96, 3, 0.0125, 0xfedcba9876543210, {"bf16", 4, 5, 450.5}};
  trial.device = "cuda:1";
  trial.outcome = trial::Outcome::timed_out;
  trial.stop_reason = trial::StopReason::time_limit;
  trial.samples_per_second = {9100.5, 9010.25, 9190.75};
  trial.step_seconds_median = 0.0141;
  trial.steps = 60, trial.timings = 12, trial.warm_up_steps = 7, trial.outlier_steps = 2;
  trial.steps_total = 938, trial.samples_per_step = 97, trial.sample_stride = 640;
  trial.samples_seen = 5760;
  trial.memory_predicted = 31457280, trial.memory_measured = 31457281;
  trial.memory_by_use = core::MemoryByUse{{1, 2, 3, 4, 5, 31457266}};
  trial.host_memory = 11, trial.memory_capacity = 12, trial.memory_wanted = 13;
  trial.memory_margin = 14, trial.inputs_vary = true;
  trial.gpus = {{"cuda:0", "NVIDIA H200", 21, 22, "NVML, of 2 processes", 0.5, 600.5, 77.5, 1980},
                {"cuda:1", "another", {}, {}, "", {}, {}, {}, {}}};
  trial.losses = {{1, 2.25}, {60, 0.625}};
  trial.memory_source = "cgroup v2 memory.peak", trial.step_source = "tqdm bar";
  trial.in_same_process = true, trial.start_up_seconds = 3.25, trial.cpu_seconds = 12.5;
  trial.phases = {0.1, 0.2, 0.3, 0.4, 0.5};
  trial.sharpness = 31.5, trial.end_train_loss = 0.0625;
  trial.energy_joules = 42.5, trial.energy_samples = 5700;
  trial.contention = {0.11, 0.22, 0.33, 0.44, 55, "power cap", true, "somebody else"};
  trial.note = "it took “too” long; 'quoted'\n\x01";
  trial.last_output = "one\n  two";
  trial.started_at = 1792000000.125;
  trial.seconds = 8.5;
  trial.raw = {{0.015, 96, 1, {0.001, 0.002, 0.003, 0.004, 0.005}, true, false, 0},
               {0.25, 95, 7, {0.006, 0.007, 0.008, 0.009, 0.01}, false, true, 1234567890, true}};
  trial.noise_scale = {512, 400.5, 700};
  trial.epochs = {{1, 1.5, 0.5, 0.25, 0.75, 0.125, 410.5}, {2, 1.25, {}, {}, {}, 0.5}};
  trial.evaluations = {{3, 288, 0.5, 0.75, 0.25, {}}, {60, 5760, 1.5, {}, 0.5, 412.5}};
  trial.trace = {{0.5, 0.75, 123456789, 99.5}, {0.625, {}, {}, {}}, {0.75, 0, 0, 0}};
  return trial;
}

Trial trial_of(std::int64_t batch, std::size_t steps) {
  Trial trial;
  trial.setting.batch = batch;
  trial.samples_per_second = {100.0 * static_cast<double>(batch), 99, 101};
  for (std::size_t i = 0; i < steps; ++i)
    trial.raw.push_back({0.001 * static_cast<double>(i), batch, 1, {}, i < 2, false});
  return trial;
}

void expect_equal(const Trial& a, const Trial& b) {
  EXPECT_EQ(a.setting, b.setting);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.stop_reason, b.stop_reason);
  EXPECT_EQ(a.samples_per_second, b.samples_per_second);
  EXPECT_EQ(a.noise_scale, b.noise_scale);
  EXPECT_EQ(a.step_seconds_median, b.step_seconds_median);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.timings, b.timings);
  EXPECT_EQ(a.steps_total, b.steps_total);
  EXPECT_EQ(a.samples_per_step, b.samples_per_step);
  EXPECT_EQ(a.sample_stride, b.sample_stride);
  EXPECT_EQ(a.last_output, b.last_output);
  EXPECT_EQ(a.memory_source, b.memory_source);
  EXPECT_EQ(a.step_source, b.step_source);
  EXPECT_EQ(a.in_same_process, b.in_same_process);
  EXPECT_EQ(a.start_up_seconds, b.start_up_seconds);
  EXPECT_EQ(a.cpu_seconds, b.cpu_seconds);
  EXPECT_EQ(a.warm_up_steps, b.warm_up_steps);
  EXPECT_EQ(a.outlier_steps, b.outlier_steps);
  EXPECT_EQ(a.samples_seen, b.samples_seen);
  EXPECT_EQ(a.memory_predicted, b.memory_predicted);
  EXPECT_EQ(a.memory_measured, b.memory_measured);
  EXPECT_EQ(a.memory_by_use, b.memory_by_use);
  EXPECT_EQ(a.host_memory, b.host_memory);
  EXPECT_EQ(a.memory_capacity, b.memory_capacity);
  EXPECT_EQ(a.memory_wanted, b.memory_wanted);
  EXPECT_EQ(a.memory_margin, b.memory_margin);
  EXPECT_EQ(a.inputs_vary, b.inputs_vary);
  EXPECT_EQ(a.gpus, b.gpus);
  EXPECT_EQ(a.energy_samples, b.energy_samples);
  EXPECT_EQ(a.sharpness, b.sharpness);
  EXPECT_EQ(a.end_train_loss, b.end_train_loss);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.evaluations, b.evaluations);
  EXPECT_EQ(a.phases, b.phases);
  EXPECT_EQ(a.contention.cpu_pressure_share, b.contention.cpu_pressure_share);
  EXPECT_EQ(a.contention.other_cpu_share, b.contention.other_cpu_share);
  EXPECT_EQ(a.contention.slowed_share, b.contention.slowed_share);
  EXPECT_EQ(a.contention.other_gpu_share, b.contention.other_gpu_share);
  EXPECT_EQ(a.contention.other_gpu_memory, b.contention.other_gpu_memory);
  EXPECT_EQ(a.contention.gpu_throttle, b.contention.gpu_throttle);
  EXPECT_EQ(a.contention.contended, b.contention.contended);
  EXPECT_EQ(a.contention.reason, b.contention.reason);
  EXPECT_EQ(a.energy_joules, b.energy_joules);
  EXPECT_EQ(a.note, b.note);
  EXPECT_EQ(a.started_at, b.started_at);
  EXPECT_EQ(a.seconds, b.seconds);
  ASSERT_EQ(a.raw.size(), b.raw.size());
  for (std::size_t i = 0; i < a.raw.size(); ++i) {
    EXPECT_EQ(a.raw[i].seconds, b.raw[i].seconds);
    EXPECT_EQ(a.raw[i].samples, b.raw[i].samples);
    EXPECT_EQ(a.raw[i].updates, b.raw[i].updates);
    EXPECT_EQ(a.raw[i].phases, b.raw[i].phases);
    EXPECT_EQ(a.raw[i].warm_up, b.raw[i].warm_up);
    EXPECT_EQ(a.raw[i].outlier, b.raw[i].outlier);
    EXPECT_EQ(a.raw[i].round, b.raw[i].round);
    EXPECT_EQ(a.raw[i].slowed, b.raw[i].slowed);
  }
  ASSERT_EQ(a.epochs.size(), b.epochs.size());
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    EXPECT_EQ(a.epochs[i].epoch, b.epochs[i].epoch);
    EXPECT_EQ(a.epochs[i].train_seconds, b.epochs[i].train_seconds);
    EXPECT_EQ(a.epochs[i].train_loss, b.epochs[i].train_loss);
    EXPECT_EQ(a.epochs[i].train_accuracy, b.epochs[i].train_accuracy);
    EXPECT_EQ(a.epochs[i].test_loss, b.epochs[i].test_loss);
    EXPECT_EQ(a.epochs[i].test_accuracy, b.epochs[i].test_accuracy);
    EXPECT_EQ(a.epochs[i].noise_scale, b.epochs[i].noise_scale);
  }
  ASSERT_EQ(a.trace.size(), b.trace.size());
  for (std::size_t i = 0; i < a.trace.size(); ++i) {
    EXPECT_EQ(a.trace[i].at_seconds, b.trace[i].at_seconds);
    EXPECT_EQ(a.trace[i].utilisation_share, b.trace[i].utilisation_share);
    EXPECT_EQ(a.trace[i].memory, b.trace[i].memory);
    EXPECT_EQ(a.trace[i].power_watts, b.trace[i].power_watts);
  }
}

}  // namespace sweetspot::tests
