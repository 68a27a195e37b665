#include "api/answer.h"

#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "report/formats.h"

namespace sweetspot::api {
Interval public_interval(const trial::Interval& interval) {
  return {interval.mean, interval.low, interval.high};
}

Trial public_trial(const trial::Trial& trial, const std::optional<advise::Bottleneck>& limited_by) {
  static_assert(static_cast<int>(Outcome::cancelled) ==
                static_cast<int>(trial::Outcome::cancelled));  // they are the same
  Trial seen;
  seen.batch = static_cast<int>(trial.setting.batch);
  seen.outcome = static_cast<Outcome>(trial.outcome);
  if (trial.samples_per_second)
    seen.samples_per_second = public_interval(*trial.samples_per_second);
  if (trial.step_seconds_median) seen.step_time = Seconds(*trial.step_seconds_median);
  seen.memory_bytes = trial.memory_measured;
  if (limited_by) seen.limited_by = words(*limited_by);
  seen.note = trial.note;
  seen.spent = Seconds(trial.seconds);
  seen.contended = trial.contention.contended;
  return seen;
}

namespace {

// A callback has a device of its own, which we know nothing of, and is asked for nothing else.
Status public_status(trial::End end) {
  switch (end) {
    case trial::End::found:
      return Status::found;
    case trial::End::budget:
      return Status::budget;
    case trial::End::stopped:
      return Status::stopped;
    case trial::End::store_failed:
      return Status::store_failed;
    default:
      return Status::nothing_feasible;
  }
}

Interval speed_of(const advise::Recommendation& made) {
  const advise::BatchRow* row = made.chosen_row();
  if (row && row->samples_per_second) return public_interval(*row->samples_per_second);
  return {made.samples_per_second, made.samples_per_second, made.samples_per_second};
}

}  // namespace

Result answer(const report::ShownStudy& study) {
  Result result;
  result.status = public_status(study.answer.end);
  result.message = study.answer.message;
  if (const advise::Recommendation* made = study.recommendation()) {
    result.batch = static_cast<int>(made->setting.batch);
    result.samples_per_second = speed_of(*made);
    result.throughput_share = made->throughput_share;
    result.memory_bytes = made->memory_bytes;
    if (made->limited_by) result.limited_by = words(*made->limited_by);
    result.sentence = advise::sentence(*made);
    result.reasons = advise::reasons_in_words(*made);
  }
  result.resumed_trials = static_cast<int>(study.resumed);
  result.spent = Seconds(study.seconds);
  result.trials.resize(study.trials.size());
  for (const report::Row& row : report::rows(study))  // by batch; the trials are as they were run
    result.trials[static_cast<std::size_t>(row.trial - study.trials.data())] =
        public_trial(*row.trial, row.bottleneck);
  result.table = report::table(study);
  result.json = core::json_text(report::json(study));
  return result;
}

}  // namespace sweetspot::api
