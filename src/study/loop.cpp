#include "study/loop.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "study/predict.h"
#include "trial/machine_speed.h"

namespace sweetspot::study {

core::Seconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

Loop::Loop(workload::Workload& workload, store::Writer& writer, const LoopOptions& options,
           Observer& observer, const std::atomic<int>& stop)
    : Loop([&workload](const auto&... asked) { return measure::measure(workload, asked...); },
           writer, options, observer, stop) {}

Loop::Loop(RunTrial run_trial, store::Writer& writer, const LoopOptions& options,
           Observer& observer, const std::atomic<int>& stop)
    : run_trial_(std::move(run_trial)),
      writer_(writer),
      options_(options),
      observer_(observer),
      stop_(stop),
      started_(options.now()),
      trials_(writer.study().trials),
      resumed_(trials_.size()) {
  for (trial::Trial& trial : trials_) trial.raw = {};
  trial::heed_best_speed(trials_);
  observer_.resumed(trials_);
}

bool Loop::may_go_on() {
  if (end_ == End::none && stop_ != 0) end_ = End::stopped;
  if (end_ == End::none && budget_is_spent()) end_ = End::budget;
  return end_ == End::none;
}

const trial::Trial* Loop::run(const trial::Setting& setting) {
  observer_.started(setting);
  measure::MeasureOptions options = options_.measure;
  options.patience = std::max(core::Seconds(0), options_.patience - waited_);
  if (options_.budget) {
    const core::Seconds left = std::max(core::Seconds(0), *options_.budget - spent());
    options.max_time = std::min(options.max_time, left);
    options.max_warm_up = std::min(options.max_warm_up, left);
    options.patience = std::min(options.patience, left);
  }
  bool warmed_up = false;
  const auto watch = [&](const measure::Sight& sight) {
    warmed_up = warmed_up || !sight.warming_up;
    observer_.sight(sight);
  };
  const auto expected = expected_memory(trials_, setting).bytes;
  trial::Trial trial;
  try {
    trial = run_trial_(setting, options, watch, stop_);
  } catch (const core::DeviceLost& lost) {
    end_ = End::device_lost;
    error_ = lost.what();
    return nullptr;
  }
  waited_ += core::Seconds(trial.contention.waited_seconds);
  // A program that the budget's end ended looks like one that came to its own. What it showed
  // counts as far as it was measured: the steps of its warm-up would do for a short program only.
  constexpr std::int64_t fewest_steps = 3;
  const bool cut = trial.stop_reason == trial::StopReason::ended && budget_is_spent();
  const bool enough = warmed_up && trial.steps >= fewest_steps;
  if (trial.outcome == trial::Outcome::cancelled || (cut && !enough)) {
    if (may_go_on()) end_ = End::stopped;
    return nullptr;
  }
  if (cut) trial.stop_reason = trial::StopReason::time_limit;
  if (!trial.memory_predicted) trial.memory_predicted = expected;
  return keep(std::move(trial));
}

const trial::Trial* Loop::keep(trial::Trial trial) {
  told_store([&] { writer_.add(trial); });
  trial.raw = {};  // a long study's steps need not stay in memory
  trials_.push_back(std::move(trial));
  trial::heed_best_speed(trials_);
  observer_.finished(trials_.back());
  return &trials_.back();
}

void Loop::close() {
  told_store([&] {
    writer_.set_state(end_ == End::none ? trial::StudyState::finished : trial::StudyState::stopped);
  });
}

// A store that fails ends the study, not the program: what was measured still makes an answer.
template <class Action>
bool Loop::told_store(const Action& action) {
  if (end_ == End::store_failed) return false;
  try {
    action();
    return true;
  } catch (const core::Error& error) {
    end_ = End::store_failed;
    error_ = error.what();
    return false;
  }
}

}  // namespace sweetspot::study
