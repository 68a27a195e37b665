#include "measure/session_trial.h"

#include <fmt/format.h>

#include <utility>

#include "measure/run_guarded.h"

namespace sweetspot::measure {

using trial::Outcome;

SessionTrial::SessionTrial(Shared& shared, const trial::Setting& setting)
    : trial(begin_trial(setting, shared.workload.device(), shared.machine)), shared_(shared) {}

void SessionTrial::predict() { trial.memory_predicted = shared_.workload.predict(trial.setting); }

void SessionTrial::open() { session_ = shared_.workload.open(trial.setting); }

void SessionTrial::block(BlockRule& rule) {
  try {
    while (!rule.is_warm()) step(true, rule);
    rule.begin();
    while (!rule.has_enough()) step(false, rule);
    rule.end();
  } catch (...) {
    rule.give_up();
    throw;
  }
}

void SessionTrial::step(bool warm_up, BlockRule& rule) {
  if (shared_.until.told_to_give_up())
    throw workload::Ended(Outcome::cancelled, "it was stopped before it was measured");
  trial::Step step = session_->step(shared_.until);
  step.warm_up = warm_up;
  shared_.elapsed.add(step.seconds);
  trial.raw.push_back(step);
  trial.seconds += step.seconds;
  trial.samples_seen += step.samples;
  (warm_up ? trial.warm_up_steps : trial.steps) += step.updates;
  if (!uses_its_batch(step))
    throw workload::Ended(Outcome::refused,
                          fmt::format("a step used {} samples where {} were asked for",
                                      step.samples, step.updates * trial.setting.batch));
  rule.add(step);
  const double now = shared_.machine.now();
  if (!shared_.watch || now < shared_.next_told) return;
  shared_.next_told = now + watch_interval_seconds;
  const bool warming_up = trial.steps == 0;
  shared_.watch({&trial.setting, warming_up, warming_up ? trial.warm_up_steps : trial.steps,
                 rule.samples_per_second()});
}

// A data set is rarely a multiple of the batch; many programs train on the remainder. That happens
// once per epoch, after whole batches, and is the same each time: a program that does otherwise
// uses a different batch than it was given, unless it does so seldom.
bool SessionTrial::uses_its_batch(const trial::Step& step) {
  constexpr std::int64_t seldom = 8;
  const std::int64_t whole = step.updates * trial.setting.batch;
  const bool after_whole = std::exchange(was_whole_, step.samples == whole);
  ++steps_;
  if (step.samples == whole) return true;
  if (step.samples <= 0 || step.samples > whole || steps_ < 2) return false;
  const bool remains = after_whole && step.samples == remainder_.value_or(step.samples);
  if (remains) remainder_ = step.samples;
  return remains || ++short_steps_ <= 1 + steps_ / seldom;
}

void SessionTrial::note_memory() {
  const workload::Seen now = session_->seen();
  note_memory(now.memory, now.memory_by_use);
}

void SessionTrial::note_memory(const std::optional<core::Bytes>& now,
                               const std::optional<core::MemoryByUse>& by_use) {
  if (!now || *now <= trial.memory_measured.value_or(0)) return;
  trial.memory_measured = now, trial.memory_by_use = by_use;
}

void SessionTrial::close() {
  if (!session_) return;
  const workload::Account account = session_->close();
  session_.reset();
  note_memory(account.memory_peak, std::nullopt);
  static_cast<trial::SessionReport&>(trial) = account;
  trial.inputs_vary = account.inputs_vary;
  if (!account.device.empty()) trial.device = account.device;
  if (trial.note.empty()) trial.note = account.note;
  if (trial.outcome != Outcome::ok) trial.last_output = account.last_output;
}

}  // namespace sweetspot::measure
