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

trial::Study stored_study(const store::Store& store, const trial::Study& opened,
                          const Result& result) {
  try {
    if (result.answer.end != trial::End::store_failed)
      if (auto stored = store.study(opened.id)) return *std::move(stored);
  } catch (const core::Error&) {  // it was there until a moment ago
  }
  trial::Study study = opened;
  study.trials = result.trials;
  study.answer = advise::to_json(result.answer);
  return study;
}

core::Seconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

bool is_energy_unknown(search::Objective objective, std::span<const trial::Trial> trials) {
  if (objective != search::Objective::energy) return false;
  const auto ok = [](const trial::Trial& trial) { return trial.outcome == trial::Outcome::ok; };
  const auto tells = [](const trial::Trial& trial) {
    return trial::joules_per_sample(trial).has_value();
  };
  return std::ranges::any_of(trials, ok) && std::ranges::none_of(trials, tells);
}

Loop::Loop(workload::Workload& workload, store::Writer& writer, const LoopOptions& options,
           Observer& observer, const std::atomic<int>& stop)
    : Loop(
          options.run_elsewhere
              ? options.run_elsewhere
              : [&workload, this](
                    const auto&... asked) { return measure::measure(workload, asked..., machine()); },
          writer, options, observer, stop) {
  workload_ = &workload;
}

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
  if (!end_ && stop_ != 0) end_ = trial::End::stopped;
  if (!end_ && left() == core::Seconds(0)) end_ = trial::End::budget;
  return !end_;
}

std::optional<core::Seconds> Loop::left() const {
  if (!options_.budget) return std::nullopt;
  return std::max(core::Seconds(0), *options_.budget - spent());
}

workload::Until Loop::until() const {
  using Ticks = workload::Until::Clock::duration;
  constexpr core::Seconds most{1e9};  // what ticks can count is more
  workload::Until until{stop_};
  if (const auto left = this->left())
    until.deadline =
        workload::Until::Clock::now() + std::chrono::duration_cast<Ticks>(std::min(*left, most));
  return until;
}

telemetry::Machine& Loop::machine() const {
  return options_.machine ? *options_.machine : telemetry::this_machine();
}

bool Loop::interleaves() const {
  return workload_ && !options_.run_elsewhere && workload_->switching().in_place;
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
  if (const auto left = this->left()) {
    options.max_time = std::min(options.max_time, *left);
    options.max_warm_up = std::min(options.max_warm_up, *left);
  }
  workload::Until until = this->until();
  until.waiting = [&](const workload::Waiting& waiting) {
    measure::TrialProgress sight{&setting, true, 0, std::nullopt};
    sight.waiting = &waiting;
    observer_.sight(sight);
  };
  const auto watch = [&](const measure::TrialProgress& sight) { observer_.sight(sight); };
  const auto expected = memory::expected(trials_, setting).bytes;
  trial::Trial trial;
  try {
    trial = run_trial_(setting, options, watch, until);
  } catch (const core::DeviceLost& lost) {
    device_lost(lost.what());
    return nullptr;
  }
  if (trial.outcome == trial::Outcome::cancelled) {
    if (may_go_on()) end_ = trial::End::stopped;
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
  growing_ = 0, ++revision_;
  observer_.finished(trials_.back());
  return &trials_.back();
}

void Loop::grow(std::vector<trial::Trial> trials) {
  for (trial::Trial& trial : trials)
    for (std::size_t i = fixed(); i < trials_.size(); ++i)
      if (trials_[i].setting == trial.setting) trial.id = trials_[i].id;
  trials_.resize(fixed());
  growing_ = trials.size(), ++revision_;
  std::ranges::move(trials, std::back_inserter(trials_));
}

void Loop::save_grown(bool finished) {
  const std::span<trial::Trial> grown = std::span(trials_).last(growing_);
  tell_store([&] { writer_.save(grown); });
  if (!finished) return;
  growing_ = 0, ++revision_;
  for (const trial::Trial& trial : grown) observer_.finished(trial);
}

void Loop::say_of(const trial::Trial& said) {
  const auto found = std::ranges::find(trials_, said.id, &trial::Trial::id);
  if (static_cast<std::size_t>(found - trials_.begin()) >= fixed()) return;  // it is said again
  found->outcome = said.outcome, found->note = said.note;
  tell_store([&] { writer_.amend(*found); });
}

void Loop::set_answer(const advise::Answer& answer) {
  tell_store([&] { writer_.set_answer(advise::to_json(answer)); });
}

void Loop::device_lost(const std::string& why) {
  end_ = trial::End::device_lost;
  error_ = why;
}

void Loop::end_with_budget() {
  if (options_.budget && !end_) end_ = trial::End::budget;
}

Result Loop::finish(advise::Answer answer) {
  if (answer.message.empty()) answer.message = error_;
  set_answer(answer);
  tell_store([&] { writer_.set_end(answer.end); });
  if (end_ == trial::End::store_failed) answer.end = *end_, answer.message = error_;
  return {std::move(answer), trials_, resumed_, spent()};
}

// A failing store ends the study, not the program: the measurements still give an answer.
template <class Action>
void Loop::tell_store(const Action& action) {
  if (end_ == trial::End::store_failed) return;
  try {
    action();
  } catch (const core::Error& error) {
    end_ = trial::End::store_failed;
    error_ = error.what();
  }
}

}  // namespace sweetspot::study
