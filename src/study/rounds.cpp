#include "study/rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.h"
#include "energy/power.h"
#include "measure/rounds.h"
#include "stats/experiment.h"

namespace sweetspot::study {
namespace {

using namespace experiment;
using energy::device_reading_seconds;

constexpr double save_interval_seconds = 2;
// At least, before the batches are chosen again.
constexpr auto rounds_before_a_change = static_cast<std::int32_t>(least_rounds);
// An expensive batch is in at least one of this many rounds, so that a few count before a change.
constexpr auto seldom = rounds_before_a_change / static_cast<std::int32_t>(least_calm);
// Extra time for reading energy, for batches that were ruled out: for eight of them, once the power
// has risen.
constexpr double most_reading_seconds = 8 * device_reading_seconds + energy::power_rise_seconds;

bool on_gpu(const workload::Workload& workload) { return workload.device() != "cpu"; }

measure::RoundsOptions options_for(const Loop& loop, const workload::Workload& workload,
                                   std::optional<core::Bytes> memory) {
  measure::RoundsOptions options;
  options.memory = memory;
  options.renews = !on_gpu(workload);
  for (const trial::Trial& trial : loop.trials())
    for (const trial::Step& step : trial.raw)
      options.first_round = std::max(options.first_round, step.round + 1);
  return options;
}

// Trials without a block do not count.
std::vector<trial::Trial> with_blocks(std::vector<trial::Trial> trials) {
  std::erase_if(
      trials, [](const trial::Trial& trial) { return trial.outcome == trial::Outcome::cancelled; });
  return trials;
}

// Keeps the trials of rounds that ended for this reason. All their settings had the external
// conditions of this one.
void finish(Loop& loop, const measure::Rounds& rounds, const trial::Setting& setting,
            trial::StopReason why) {
  std::vector<trial::Trial> trials = with_blocks(rounds.trials());
  const auto disturbed = loop.disturbed(setting);
  for (trial::Trial& trial : trials) {
    if (trial.outcome == trial::Outcome::ok) trial.stop_reason = why;
    if (disturbed) refuse_as(trial, *disturbed);
  }
  loop.keep_growing(std::move(trials), true);
}

class SearchInRounds {
 public:
  SearchInRounds(Loop& loop, workload::Workload& workload, const Axis& axis,
                 const search::Limits& limits, const search::Predict& predict,
                 const AnswerSoFar& answer, telemetry::Machine& machine)
      : loop_(loop),
        axis_(axis),
        limits_(limits),
        predict_(predict),
        answer_(answer),
        before_(loop.trials()),
        watch_([&loop](const measure::TrialProgress& sight) { loop.observer().sight(sight); }),
        rounds_(workload, options_for(loop, workload, limits.memory.limit), watch_, loop.stop(),
                machine) {
    limit_seconds_ = limit_seconds(on_gpu(workload));
    for (const trial::Trial& trial : axis.on(before_))
      if (!trial.raw.empty()) limit_seconds_ -= trial.seconds, resumed_ = true;
    for (const trial::Trial& trial : axis.on(before_))
      if (trial::joules_per_sample(trial)) read_.insert(trial.setting.batch);
    // The rest is for saving and answering.
    if (loop.options().budget)
      limit_seconds_ = (1 - noticeable_share) * (*loop.options().budget - loop.spent()).count();
  }

  void run() {
    loop_.prepare(axis_.base);
    try {
      go_on();
    } catch (const core::DeviceLost& lost) {
      loop_.device_lost(lost.what());
    }
    finish(loop_, rounds_, axis_.base,
           settled_ ? trial::StopReason::precise : trial::StopReason::time_limit);
  }

 private:
  void go_on() {
    while (loop_.may_go_on()) {
      const search::RoundPlan plan =
          search::plan_rounds(with_before(rounds_.blocks()), limits_, predict_);
      if (plan.batches.empty()) return;
      // Twice in a row, unless an earlier run of the study has done that.
      settled_ = plan.settled && (plan.batches == in_turns_ || (in_turns_.empty() && resumed_));
      in_turns_ = plan.batches;
      decision_ = plan.decision;
      if (!plan.scouting && read_what_decides()) continue;
      tell();
      if (settled_) break;
      if (!plan.scouting && is_time_over()) {
        if (!resumed_ && rounds_.rounds() - scouted_rounds_ < rounds_before_a_change)
          loop_.end_with_budget();
        break;
      }
      // The more is known, the less a few rounds change.
      const std::int32_t eighth = rounds_.rounds() / 8;
      if (plan.scouting ? !scout() : !run_rounds(std::max(rounds_before_a_change, eighth))) break;
      if (plan.scouting) scouted_rounds_ = rounds_.rounds();
      save_now_and_then();
    }
    read_devices();
  }

  bool is_time_over() const { return rounds_.elapsed_seconds() >= limit_seconds_; }

  // A coarse measurement of one batch. A single short block may coincide with a slow moment of the
  // machine, and mislead the scan.
  bool scout() {
    const double until = rounds_.elapsed_seconds() + cheap_step_seconds;
    for (std::int32_t i = 0; i < rounds_before_a_change; ++i) {
      if (i > 0 && rounds_.elapsed_seconds() >= until) break;
      if (!run_rounds(1)) return false;
      if (is_time_over()) break;
    }
    return true;
  }

  // False if it was stopped.
  bool run_rounds(int count) {
    std::vector<trial::Setting> settings;
    for (const std::int64_t size : in_turns_) {
      settings.push_back(axis_.at(size));
      if (std::ranges::find(started_, size) != started_.end()) continue;
      started_.push_back(size);
      loop_.observer().started(settings.back());
    }
    for (int i = 0; i < count; ++i) {
      if (!rounds_.run(in_this_round(settings))) return false;
      if (is_time_over() || !loop_.may_go_on()) break;
      tell();
    }
    return true;
  }

  // Block times vary equally whatever their length, so an expensive one is no more informative than
  // a cheap one: it runs less often, by the square root of its cost, which is optimal for
  // differences.
  std::vector<trial::Setting> in_this_round(const std::vector<trial::Setting>& settings) const {
    double cheapest = std::numeric_limits<double>::infinity();
    for (const trial::Setting& setting : settings)
      cheapest = std::min(cheapest, rounds_.turn_seconds(setting));
    if (!(cheapest > 0)) return settings;
    std::vector<trial::Setting> found;
    for (const trial::Setting& setting : settings) {
      const double dearer = std::sqrt(rounds_.turn_seconds(setting) / cheapest);
      const auto every =
          std::clamp<std::int32_t>(static_cast<std::int32_t>(std::lround(dearer)), 1, seldom);
      if (rounds_.rounds() % every == 0) found.push_back(setting);
    }
    return found;
  }

  std::vector<trial::Trial> with_before(std::vector<trial::Trial> trials) const {
    std::vector<trial::Trial> all = before_;
    for (trial::Trial& trial : with_blocks(std::move(trials))) all.push_back(std::move(trial));
    return axis_.on(all);
  }

  void tell() {
    Standing standing;
    standing.decision = decision_ ? &*decision_ : nullptr;
    standing.rounds = rounds_.rounds();
    standing.batches = in_turns_;
    standing.seconds = rounds_.elapsed_seconds(), standing.limit_seconds = limit_seconds_;
    loop_.observer().standing(standing);
  }

  void save_now_and_then() {
    const double now = rounds_.elapsed_seconds();
    if (now - saved_at_ < save_interval_seconds) return;
    saved_at_ = now;
    loop_.keep_growing(with_blocks(rounds_.trials()), false);
    if (decision_ && answer_) loop_.set_answer(answer_());
  }

  // If energy is the goal: reads it for interleaved batches where it is unknown. Returns whether
  // there were any. This does not count as time for rounds, unless the user set it.
  bool read_what_decides() {
    if (limits_.objective != search::Objective::energy) return false;
    const double before = rounds_.elapsed_seconds();
    bool any = false;
    for (const std::int64_t size : in_turns_) {
      if (read_.contains(size) || !rounds_.took_part(axis_.at(size)) || !loop_.may_go_on())
        continue;
      read_.insert(size);
      rounds_.read_device(axis_.at(size), energy::power_reading_seconds,
                          energy::power_rise_seconds);
      any = true;
    }
    if (!loop_.options().budget) limit_seconds_ += rounds_.elapsed_seconds() - before;
    return any;
  }

  // Unless an earlier run of the study has done so, and nothing was left to measure.
  void read_devices() {
    if (!rounds_.has_energy() || rounds_.rounds() == 0) return;
    if (limits_.objective == search::Objective::energy) return void(read_what_decides());
    std::vector<std::int64_t> sizes = in_turns_;
    // Ruled-out batches are in the same table, unless their step takes long. They are read as long
    // as the answer need not wait for it.
    const double latest = limit_seconds_ + most_reading_seconds;
    for (const std::int64_t size : started_)
      if (std::ranges::find(in_turns_, size) == in_turns_.end() &&
          rounds_.took_part(axis_.at(size)) &&
          rounds_.turn_seconds(axis_.at(size)) <= device_reading_seconds)
        sizes.push_back(size);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (loop_.may_go_on() && (i < in_turns_.size() || rounds_.elapsed_seconds() < latest))
        rounds_.read_device(axis_.at(sizes[i]), device_reading_seconds,
                            i == 0 ? energy::power_rise_seconds : 0);  // it rested meanwhile
  }

  Loop& loop_;
  const Axis& axis_;
  const search::Limits& limits_;
  const search::Predict& predict_;
  const AnswerSoFar& answer_;
  const std::vector<trial::Trial> before_;
  const measure::Watch watch_;
  measure::Rounds rounds_;
  double limit_seconds_ = 0, saved_at_ = 0;
  std::int32_t scouted_rounds_ = 0;
  std::vector<std::int64_t> in_turns_, started_;
  std::set<std::int64_t> read_;  // sizes whose energy was
  bool resumed_ = false, settled_ = false;
  std::optional<search::Decision> decision_;
};

bool is_precise(const trial::Trial& trial, double precision) {
  return trial.outcome != trial::Outcome::ok ||
         (trial.samples_per_second && trial.samples_per_second->half_width_share() <= precision);
}

}  // namespace

void search_in_rounds(Loop& loop, workload::Workload& workload, const Axis& axis,
                      const search::Limits& limits, const search::Predict& predict,
                      const AnswerSoFar& answer, telemetry::Machine& machine) {
  SearchInRounds(loop, workload, axis, limits, predict, answer, machine).run();
}

void measure_in_rounds(Loop& loop, workload::Workload& workload,
                       const std::vector<trial::Setting>& settings,
                       std::optional<core::Bytes> memory, telemetry::Machine& machine) {
  const measure::MeasureOptions& asked = loop.options().measure;
  const measure::Watch watch = [&](const measure::TrialProgress& sight) {
    loop.observer().sight(sight);
  };
  measure::Rounds rounds(workload, options_for(loop, workload, memory), watch, loop.stop(),
                         machine);
  const double limit = asked.max_time.count() * static_cast<double>(settings.size());
  double saved_at = 0;
  trial::StopReason why = trial::StopReason::time_limit;
  loop.prepare(settings.front());
  try {
    for (const trial::Setting& setting : settings) loop.observer().started(setting);
    while (loop.may_go_on() && rounds.elapsed_seconds() < limit && rounds.run(settings)) {
      if (rounds.rounds() % static_cast<std::int32_t>(least_rounds) != 0) continue;
      const auto trials = with_blocks(rounds.trials());
      if (std::ranges::all_of(trials, [&](const trial::Trial& trial) {
            return is_precise(trial, asked.precision);
          })) {
        why = trial::StopReason::precise;
        break;
      }
      if (rounds.elapsed_seconds() - saved_at < save_interval_seconds) continue;
      saved_at = rounds.elapsed_seconds();
      loop.keep_growing(trials, false);
    }
    if (rounds.has_energy())
      for (std::size_t i = 0; i < settings.size() && loop.may_go_on(); ++i)
        rounds.read_device(settings[i], device_reading_seconds,
                           i == 0 ? energy::power_rise_seconds : 0);
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  }
  finish(loop, rounds, settings.front(), why);
  if (loop.stop() != 0) loop.may_go_on();  // it was cancelled, and nothing else begins
}

}  // namespace sweetspot::study
