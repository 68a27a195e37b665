#include "api/answer.h"

#include <nlohmann/json.hpp>

#include "api/study_store.h"
#include "report/formats.h"

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

report::Answer reported(const tuning::TuneResult& found, const std::string& workload,
                        const std::string& study) {
  report::Answer answer;
  answer.study = study;
  answer.workload = workload;
  answer.take(found.answer);
  answer.trials = found.trials;
  answer.resumed = found.resumed;
  answer.seconds = found.spent.count();
  answer.facts = found.facts;
  answer.environment_json = environment_json();
  return answer;
}

}  // namespace

Result answer(const tuning::TuneResult& found, const std::string& workload,
              const std::string& study) {
  Result result;
  result.status = public_status(found.answer.end);
  result.message = found.answer.message;
  if (const auto* made = found.recommendation()) {
    result.batch = static_cast<int>(made->setting.batch);
    result.samples_per_second = speed_of(*made);
    result.throughput_share = made->throughput_share;
    result.memory_bytes = made->memory_bytes;
    if (made->limited_by) result.limited_by = words(*made->limited_by);
    result.sentence = advise::sentence(*made);
    result.reasons = advise::reasons_in_words(*made);
  }
  result.resumed_trials = static_cast<int>(found.resumed);
  result.spent = found.spent;
  const report::Answer whole = reported(found, workload, study);
  result.trials.resize(whole.trials.size());
  for (const report::Row& row : report::rows(whole))  // by batch; the trials are as they were run
    result.trials[static_cast<std::size_t>(row.trial - whole.trials.data())] =
        public_trial(*row.trial, row.bottleneck);
  result.table = report::table(whole);
  result.json = report::json(whole).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return result;
}

}  // namespace sweetspot::api
