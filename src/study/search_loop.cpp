#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/error.h"
#include "energy/power.h"
#include "measure/rounds.h"
#include "stats/experiment.h"
#include "study/axis.h"
#include "study/loop.h"

namespace sweetspot::study {
namespace {

using namespace experiment;
using energy::device_reading_seconds;

// At least, before the batches are chosen again.
constexpr auto rounds_before_a_change = static_cast<std::int32_t>(least_rounds);
// An expensive batch is in at least one of this many rounds, so that a few count before a change.
constexpr auto seldom = rounds_before_a_change / static_cast<std::int32_t>(least_calm);
// Extra time for reading energy, for batches that were ruled out: for eight of them, once the power
// has risen.
constexpr double most_reading_seconds = 8 * device_reading_seconds + energy::power_rise_seconds;

measure::RoundsOptions options_for(const Loop& loop, const workload::Workload& workload,
                                   std::optional<core::Bytes> memory) {
  measure::RoundsOptions options;
  options.memory = memory;
  options.renews = !trial::on_gpu(workload.device());
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

// Sessions side by side, measured in rounds for a loop, which has and stores their trials as they
// grow.
class Interleaving {
 public:
  // All settings have the external conditions of this one.
  Interleaving(Loop& loop, workload::Workload& workload, const trial::Setting& like,
               std::optional<core::Bytes> memory)
      : loop_(loop),
        like_(like),
        watch_([&loop](const measure::TrialProgress& sight) { loop.observer().sight(sight); }),
        rounds_(workload, options_for(loop, workload, memory), watch_, loop.until(),
                loop.machine()) {
    loop.prepare(like);
  }

  measure::Rounds& rounds() { return rounds_; }

  // The loop gets the trials as far as they are measured, with what their blocks amount to if that
  // is asked for. Every other second they are saved, and this is true.
  bool grow(bool summarized = false) {
    constexpr double save_interval_seconds = 2;
    const double now = rounds_.elapsed_seconds();
    const bool saves = now - saved_at_ >= save_interval_seconds;
    loop_.grow(with_blocks(saves || summarized ? rounds_.trials() : rounds_.blocks()));
    if (!saves) return false;
    saved_at_ = now;
    loop_.save_grown(false);
    return true;
  }

  void finish(trial::StopReason why) {
    rounds_.close();
    std::vector<trial::Trial> trials = with_blocks(rounds_.trials());
    const auto disturbed = loop_.disturbed(like_);
    for (trial::Trial& trial : trials) {
      if (trial.outcome == trial::Outcome::ok) trial.stop_reason = why;
      if (disturbed) refuse_as(trial, *disturbed);
    }
    loop_.grow(std::move(trials));
    loop_.save_grown(true);
  }

 private:
  Loop& loop_;
  const trial::Setting like_;
  const measure::Watch watch_;
  measure::Rounds rounds_;
  double saved_at_ = 0;
};

// A search on an axis whose settings change in place: a coarse scan of the range, then rounds of
// the batches that matter.
class SearchInPlace {
 public:
  SearchInPlace(Loop& loop, workload::Workload& workload, const AxisState& axis)
      : loop_(loop),
        axis_(axis),
        objective_(axis.limits().objective),
        sessions_(loop, workload, axis.axis().base, axis.limits().memory.limit),
        rounds_(sessions_.rounds()),
        limit_seconds_(limit_seconds(trial::on_gpu(workload.device()))) {
    for (const trial::Trial& trial : axis.trials()) {
      if (!trial.raw.empty()) limit_seconds_ -= trial.seconds, resumed_ = true;
      if (trial::joules_per_sample(trial)) read_.insert(trial.setting.batch);
    }
    // The rest is for saving and answering.
    if (const auto left = loop.left()) limit_seconds_ = (1 - noticeable_share) * left->count();
  }

  // What a plan asks for. False: nothing more is to be run.
  bool run(const search::Plan& plan) {
    saved_ = false;
    // Twice in a row, unless an earlier run of the study has done that.
    settled_ = plan.settled && (plan.batches == in_turns_ || (in_turns_.empty() && resumed_));
    in_turns_ = plan.batches;
    if (!plan.scouting && read_what_decides()) return saved_ = sessions_.grow(), true;
    tell(plan);
    if (settled_) return false;
    if (!plan.scouting && is_time_over()) {
      if (!resumed_ && rounds_.rounds() - scouted_rounds_ < rounds_before_a_change)
        loop_.end_with_budget();
      return false;
    }
    // The more is known, the less a few rounds change.
    const std::int32_t eighth = rounds_.rounds() / 8;
    const bool goes_on =
        plan.scouting ? scout(plan) : run_rounds(plan, std::max(rounds_before_a_change, eighth));
    if (plan.scouting) scouted_rounds_ = rounds_.rounds();
    saved_ = sessions_.grow();
    return goes_on;
  }

  bool saved() const { return saved_; }  // whether that was

  // Unless an earlier run of the study has done so, and nothing was left to measure.
  void read_devices() {
    if (!rounds_.has_energy() || rounds_.rounds() == 0) return;
    if (objective_ == search::Objective::energy) return void(read_what_decides());
    std::vector<std::int64_t> sizes = in_turns_;
    // Ruled-out batches are in the same table, unless their step takes long. They are read as long
    // as the answer need not wait for it.
    const double latest = limit_seconds_ + most_reading_seconds;
    for (const std::int64_t size : started_)
      if (std::ranges::find(in_turns_, size) == in_turns_.end() &&
          rounds_.took_part(axis_.axis().at(size)) &&
          rounds_.turn_seconds(axis_.axis().at(size)) <= device_reading_seconds)
        sizes.push_back(size);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (loop_.may_go_on() && (i < in_turns_.size() || rounds_.elapsed_seconds() < latest))
        rounds_.read_device(axis_.axis().at(sizes[i]), device_reading_seconds,
                            i == 0 ? energy::power_rise_seconds : 0);  // it rested meanwhile
  }

  void finish() {
    sessions_.finish(settled_ ? trial::StopReason::precise : trial::StopReason::time_limit);
  }

 private:
  bool is_time_over() const { return rounds_.elapsed_seconds() >= limit_seconds_; }

  // A coarse measurement of one batch. A single short block may coincide with a slow moment of the
  // machine, and mislead the scan.
  bool scout(const search::Plan& plan) {
    const double until = rounds_.elapsed_seconds() + cheap_step_seconds;
    for (std::int32_t i = 0; i < rounds_before_a_change; ++i) {
      if (i > 0 && rounds_.elapsed_seconds() >= until) break;
      if (!run_rounds(plan, 1)) return false;
      if (is_time_over()) break;
    }
    return true;
  }

  // False if it was stopped.
  bool run_rounds(const search::Plan& plan, int count) {
    std::vector<trial::Setting> settings;
    for (const std::int64_t size : plan.batches) {
      settings.push_back(axis_.axis().at(size));
      if (std::ranges::find(started_, size) != started_.end()) continue;
      started_.push_back(size);
      loop_.observer().started(settings.back());
    }
    for (int i = 0; i < count; ++i) {
      if (!rounds_.run(in_this_round(settings))) return false;
      if (is_time_over() || !loop_.may_go_on()) break;
      tell(plan);
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

  void tell(const search::Plan& plan) const {
    Standing standing;
    standing.decision = plan.decision && !plan.scouting ? &*plan.decision : nullptr;
    standing.rounds = rounds_.rounds();
    standing.batches = plan.batches;
    standing.seconds = rounds_.elapsed_seconds(), standing.limit_seconds = limit_seconds_;
    loop_.observer().standing(standing);
  }

  // If energy is the goal: reads it for interleaved batches where it is unknown. Returns whether
  // there were any. This does not count as time for rounds, unless the user set it.
  bool read_what_decides() {
    if (objective_ != search::Objective::energy) return false;
    const double before = rounds_.elapsed_seconds();
    bool any = false;
    for (const std::int64_t size : in_turns_) {
      const trial::Setting setting = axis_.axis().at(size);
      if (read_.contains(size) || !rounds_.took_part(setting) || !loop_.may_go_on()) continue;
      read_.insert(size);
      rounds_.read_device(setting, energy::power_reading_seconds, energy::power_rise_seconds);
      any = true;
    }
    if (!loop_.options().budget) limit_seconds_ += rounds_.elapsed_seconds() - before;
    return any;
  }

  Loop& loop_;
  const AxisState& axis_;
  const search::Objective objective_;
  Interleaving sessions_;
  measure::Rounds& rounds_;
  double limit_seconds_ = 0;
  std::int32_t scouted_rounds_ = 0;
  std::vector<std::int64_t> in_turns_, started_;
  std::set<std::int64_t> read_;  // sizes whose energy was
  bool resumed_ = false, settled_ = false, saved_ = false;
};

bool is_precise(const trial::Trial& trial, double precision) {
  return trial.outcome != trial::Outcome::ok ||
         (trial.samples_per_second && trial.samples_per_second->half_width_share() <= precision);
}

}  // namespace

void Loop::search(AxisState& axis, const AnswerSoFar& answer) {
  std::optional<SearchInPlace> in_place;
  const auto finish = [&] {
    if (in_place) in_place->finish();
    in_place.reset();
  };
  try {
    axis.update(*this);
    while (may_go_on() && !axis.batch_use().is_over()) {
      const search::Plan& plan = axis.plan();
      bool goes_on = !plan.batches.empty(), may_tell = true;
      if (!plan.interleaved) {
        finish();
        goes_on = goes_on && !is_energy_unknown(axis.limits().objective, trials_);
        if (goes_on) run(axis.axis().at(plan.batches.front()));
      } else if (goes_on) {
        if (!in_place) in_place.emplace(*this, *workload_, axis);
        goes_on = in_place->run(plan);
        may_tell = in_place->saved() && !plan.scouting;
      }
      axis.update(*this);
      if (goes_on && may_tell && !axis.batch_use().doubt()) tell(axis, answer);
      if (!goes_on && !axis.settle(*this)) break;
    }
    if (in_place) in_place->read_devices();
  } catch (const core::DeviceLost& lost) {
    device_lost(lost.what());
  }
  finish();
  axis.settle(*this);
  axis.update(*this);
}

void Loop::run_together(std::span<const trial::Setting> settings,
                        std::optional<core::Bytes> memory) {
  Interleaving sessions(*this, *workload_, settings.front(), memory);
  measure::Rounds& rounds = sessions.rounds();
  const double limit = options_.measure.max_time.count() * static_cast<double>(settings.size());
  trial::StopReason why = trial::StopReason::time_limit;
  try {
    for (const trial::Setting& setting : settings) observer_.started(setting);
    while (may_go_on() && rounds.elapsed_seconds() < limit && rounds.run(settings)) {
      if (rounds.rounds() % static_cast<std::int32_t>(experiment::least_rounds) != 0) continue;
      sessions.grow(true);
      if (std::ranges::all_of(std::span(trials_).last(growing_), [&](const trial::Trial& trial) {
            return is_precise(trial, options_.measure.precision);
          })) {
        why = trial::StopReason::precise;
        break;
      }
    }
    for (std::size_t i = 0; i < settings.size() && rounds.has_energy() && may_go_on(); ++i)
      rounds.read_device(settings[i], energy::device_reading_seconds,
                         i == 0 ? energy::power_rise_seconds : 0);
  } catch (const core::DeviceLost& lost) {
    device_lost(lost.what());
  }
  sessions.finish(why);
  if (stop_ != 0) may_go_on();  // it was cancelled, and nothing else begins
}

void Loop::tell(AxisState& axis, const AnswerSoFar& answer) {
  if (auto made = answer()) set_answer({*std::move(made)});
  const search::Plan& plan = axis.plan();
  if (plan.interleaved || !plan.decision) return;  // a display is told after each round
  Standing standing;
  standing.decision = &*plan.decision;
  observer_.standing(standing);
}

}  // namespace sweetspot::study
