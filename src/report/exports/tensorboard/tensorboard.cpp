#include "report/exports/tensorboard/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "report/exports/tensorboard/hparams.h"
#include "report/formats.h"

namespace sweetspot::report::tensorboard {
namespace {

void add_results(Events& events, const trial::Trial& t, double at) {
  const auto add = [&](const char* tag, std::optional<double> value) {
    if (value) events.scalar(tag, 0, *value, at);
  };
  const auto bytes = [](const std::optional<core::Bytes>& known) {
    return known ? std::optional(static_cast<double>(*known)) : std::nullopt;
  };
  if (t.samples_per_second) {
    add(metric::samples_per_second, t.samples_per_second->mean);
    add("samples_per_second/low", t.samples_per_second->low);
    add("samples_per_second/high", t.samples_per_second->high);
  }
  add(metric::step_seconds, t.step_seconds_median);
  add(metric::memory_bytes, bytes(t.memory_measured ? t.memory_measured : t.memory_predicted));
  add(metric::energy_joules, t.energy_joules);
  add(metric::joules_per_sample, trial::joules_per_sample(t));
  if (!t.epochs.empty()) add(metric::test_accuracy, t.epochs.back().test_accuracy);
}

// Warm-up steps come first; they are separate so that they do not set the scale of the others.
void add_steps(Events& events, const trial::Trial& t) {
  double at = t.started_at + t.start_up_seconds.value_or(0);
  std::int64_t number = 0;
  for (const trial::Step& step : t.raw) {
    at += step.seconds;
    events.scalar(step.warm_up ? "step/warm_up_seconds" : "step/seconds", ++number,
                  step.seconds / static_cast<double>(step.updates), at);
  }
}

void add_epochs(Events& events, const trial::Trial& t) {
  double at = t.started_at;
  for (const trial::Epoch& epoch : t.epochs) {
    at += epoch.train_seconds;
    const auto add = [&](const char* tag, std::optional<double> value) {
      if (value) events.scalar(tag, epoch.epoch, *value, at);
    };
    add("epoch/train_seconds", epoch.train_seconds);
    add("epoch/train_loss", epoch.train_loss);
    add("epoch/train_accuracy", epoch.train_accuracy);
    add("epoch/test_loss", epoch.test_loss);
    add("epoch/test_accuracy", epoch.test_accuracy);
    add("epoch/noise_scale_samples", epoch.noise_scale);
  }
}

// A scalar needs an integer for its axis: milliseconds. Its wall time is the real one.
void add_readings(Events& events, const trial::Trial& t) {
  for (const trial::Reading& reading : t.trace) {
    if (!std::isfinite(reading.at_seconds) || reading.at_seconds < 0) continue;
    const auto milliseconds = static_cast<std::int64_t>(
        std::min(1e3 * reading.at_seconds, 1e15));  // the store is untrusted
    const auto add = [&](const char* tag, std::optional<double> value) {
      if (value) events.scalar(tag, milliseconds, *value, t.started_at + reading.at_seconds);
    };
    add("device/utilisation_share", reading.utilisation_share);
    if (reading.memory) add("device/memory_bytes", static_cast<double>(*reading.memory));
    add("device/power_watts", reading.power_watts);
  }
}

}  // namespace

std::string trial_events(const trial::Trial& trial) {
  Events events(trial.started_at);
  add_session(events, trial);
  add_results(events, trial, trial.started_at + trial.seconds);
  add_steps(events, trial);
  add_epochs(events, trial);
  add_readings(events, trial);
  return events.bytes();
}

namespace {

namespace fs = std::filesystem;

// TensorBoard looks for "tfevents" in the name, and orders a run's files by the seconds in it.
std::string file_name(double at_unix_seconds) {
  const double seconds = std::isfinite(at_unix_seconds) ? std::clamp(at_unix_seconds, 0.0, 9e9) : 0;
  return fmt::format("events.out.tfevents.{:010.0f}.sweetspot", std::floor(seconds));
}

void write_run(const fs::path& folder, double at_unix_seconds, const std::string& bytes) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw core::MachineError(
        fmt::format("the folder {} cannot be made: {}; name another one with "
                    "--tensorboard",
                    core::printable(folder.string()), failed.message()));
  write_file(folder / file_name(at_unix_seconds), bytes);
}

std::string run_name(const trial::Trial& trial, std::size_t place) {
  const std::int64_t number = trial.id > 0 ? trial.id : static_cast<std::int64_t>(place) + 1;
  return fmt::format("batch-{}-trial-{}", trial.setting.batch, number);
}

}  // namespace

std::size_t write(const fs::path& folder, const ShownStudy& study) {
  if (study.trials.empty()) return 0;
  // A study's number is untrusted text.
  std::string number = study.number;
  std::erase_if(number, [](char c) { return c < '0' || c > '9'; });
  const fs::path runs = folder / fmt::format("study-{}", number);
  const double begun_at = study.trials.front().started_at;
  Events experiment(begun_at);
  add_experiment(experiment, study, begun_at);
  write_run(runs, begun_at, experiment.bytes());
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const trial::Trial& trial = study.trials[i];
    write_run(runs / run_name(trial, i), trial.started_at, trial_events(trial));
  }
  return study.trials.size();
}

}  // namespace sweetspot::report::tensorboard
