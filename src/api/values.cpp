#include "api/values.h"

namespace sweetspot::api {
namespace {

Outcome public_outcome(trial::Outcome outcome) {
  switch (outcome) {
    case trial::Outcome::ok:
      return Outcome::ok;
    case trial::Outcome::out_of_memory:
      return Outcome::out_of_memory;
    case trial::Outcome::timed_out:
      return Outcome::timed_out;
    case trial::Outcome::crashed:
      return Outcome::crashed;
    case trial::Outcome::killed:
      return Outcome::killed;
    case trial::Outcome::refused:
      return Outcome::refused;
    case trial::Outcome::cancelled:
      return Outcome::cancelled;
  }
  return Outcome::crashed;
}

}  // namespace

Interval public_interval(const trial::Interval& interval) {
  return {interval.mean, interval.low, interval.high};
}

Trial public_trial(const trial::Trial& trial) {
  Trial seen;
  seen.batch = static_cast<int>(trial.setting.batch);
  seen.outcome = public_outcome(trial.outcome);
  if (trial.samples_per_second)
    seen.samples_per_second = public_interval(*trial.samples_per_second);
  if (trial.step_seconds_median) seen.step_time = Seconds(*trial.step_seconds_median);
  seen.memory_bytes = trial.memory_measured;
  seen.note = trial.note;
  seen.spent = Seconds(trial.seconds);
  seen.contended = trial.contention.contended;
  return seen;
}

Trial public_trial(const trial::Trial& trial, const std::optional<advise::Bottleneck>& limited_by) {
  Trial seen = public_trial(trial);
  if (limited_by) seen.limited_by = words(*limited_by);
  return seen;
}

}  // namespace sweetspot::api
