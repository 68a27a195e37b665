#include "study/loop.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "memory/memory_fit.h"

namespace sweetspot::study {
namespace {

// A long study's steps need not stay in memory: only blocks of rounds are read again.
void drop_single_steps(trial::Trial& trial) {
  if (std::ranges::none_of(trial.raw, [](const trial::Step& step) { return step.round > 0; }))
    trial.raw = {};
}

}  // namespace

void refuse_as(trial::Trial& trial, const std::string& why) {
  trial.outcome = trial::Outcome::refused;
  trial.note = why;
  trial.samples_per_second.reset();
}

core::Seconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

Loop::Loop(workload::Workload& workload, store::Writer& writer, const LoopOptions& options,
           Observer& observer, const std::atomic<int>& stop)
    : Loop(
          options.run_elsewhere
              ? options.run_elsewhere
              : [&workload](const auto&... asked) { return measure::measure(workload, asked...); },
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
  for (trial::Trial& trial : trials_) drop_single_steps(trial);
  observer_.resumed(trials_);
}

bool Loop::may_go_on() {
  if (end_ == advise::CutShort::no && stop_ != 0) end_ = advise::CutShort::stopped;
  if (end_ == advise::CutShort::no && budget_is_spent()) end_ = advise::CutShort::budget;
  return end_ == advise::CutShort::no;
}

void Loop::prepare(const trial::Setting& setting) {
  if (setting.configuration.power_limit_watts && options_.power_limits)
    options_.power_limits->set(*setting.configuration.power_limit_watts);
}

std::optional<std::string> Loop::disturbed(const trial::Setting& setting) const {
  return setting.configuration.power_limit_watts && options_.power_limits
             ? options_.power_limits->changed()
             : std::nullopt;
}

const trial::Trial* Loop::run(const trial::Setting& setting, measure::MeasureOptions options) {
  prepare(setting);
  observer_.started(setting);
  tell_store([&] { writer_.set_running(setting.batch); });
  if (std::ranges::find(trials_, setting, &trial::Trial::setting) != trials_.end())
    options.first_look = false;
  if (options_.budget) {
    const core::Seconds left = std::max(core::Seconds(0), *options_.budget - spent());
    options.max_time = std::min(options.max_time, left);
    options.max_warm_up = std::min(options.max_warm_up, left);
    using Clock = workload::Until::Clock;
    constexpr core::Seconds most{1e9};  // what its ticks can count is more
    options.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min(left, most));
  }
  const auto watch = [&](const measure::TrialProgress& sight) { observer_.sight(sight); };
  const auto expected = memory::expected(trials_, setting).bytes;
  trial::Trial trial;
  try {
    trial = run_trial_(setting, options, watch, stop_);
  } catch (const core::DeviceLost& lost) {
    device_lost(lost.what());
    return nullptr;
  }
  if (trial.outcome == trial::Outcome::cancelled) {
    if (may_go_on()) end_ = advise::CutShort::stopped;
    cut_off_ = trial.note;
    return nullptr;
  }
  if (const auto why = disturbed(setting)) refuse_as(trial, *why);
  if (!trial.memory_predicted) trial.memory_predicted = expected;
  return keep(std::move(trial));
}

const trial::Trial* Loop::keep(trial::Trial trial) {
  tell_store([&] { writer_.save({&trial, 1}); });
  drop_single_steps(trial);
  trials_.push_back(std::move(trial));
  growing_ = 0;
  observer_.finished(trials_.back());
  return &trials_.back();
}

void Loop::keep_growing(std::vector<trial::Trial> trials, bool finished) {
  const std::size_t before = trials_.size() - growing_;
  for (trial::Trial& trial : trials)
    for (std::size_t i = before; i < trials_.size(); ++i)
      if (trials_[i].setting == trial.setting) trial.id = trials_[i].id;
  tell_store([&] { writer_.save(trials); });
  trials_.resize(before);
  trials_.insert(trials_.end(), trials.begin(), trials.end());
  growing_ = finished ? 0 : trials.size();
  if (finished)
    for (const trial::Trial& trial : trials) observer_.finished(trial);
}

void Loop::say_of(std::int64_t id, trial::Outcome outcome, const std::string& note) {
  const auto found = std::ranges::find(trials_, id, &trial::Trial::id);
  if (found == trials_.end()) return;
  found->outcome = outcome, found->note = note;
  tell_store([&] { writer_.amend(*found); });
}

void Loop::set_answer(const std::string& answer) {
  tell_store([&] { writer_.set_answer(answer); });
}

void Loop::device_lost(const std::string& why) {
  end_ = advise::CutShort::device_lost;
  error_ = why;
}

void Loop::end_with_budget() {
  if (options_.budget && end_ == advise::CutShort::no) end_ = advise::CutShort::budget;
}

// A study without results, as after a typo in the program, is not finished.
void Loop::close() {
  const bool any =
      std::ranges::find(trials_, trial::Outcome::ok, &trial::Trial::outcome) != trials_.end();
  tell_store([&] {
    writer_.set_state(end_ == advise::CutShort::no && any ? trial::StudyState::finished
                                                          : trial::StudyState::stopped);
  });
}

// A failing store ends the study, not the program: the measurements still give an answer.
template <class Action>
void Loop::tell_store(const Action& action) {
  if (end_ == advise::CutShort::store_failed) return;
  try {
    action();
  } catch (const core::Error& error) {
    end_ = advise::CutShort::store_failed;
    error_ = error.what();
  }
}

}  // namespace sweetspot::study
