#include <algorithm>
#include <cmath>

#include "report/exports/tensorboard/hparams.h"
#include "report/exports/tensorboard/tensorboard.h"

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

// Warm-up steps are the first of them; the others are apart so that their scale is not the
// warm-up's.
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

// A scalar needs a whole number for its axis: milliseconds. Its wall time is the real one.
void add_readings(Events& events, const trial::Trial& t) {
  for (const trial::Reading& reading : t.trace) {
    if (!std::isfinite(reading.at_seconds) || reading.at_seconds < 0) continue;
    const auto milliseconds = static_cast<std::int64_t>(
        std::min(1e3 * reading.at_seconds, 1e15));  // a store may be anybody's
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

}  // namespace sweetspot::report::tensorboard
