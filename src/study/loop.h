#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/answer.h"
#include "energy/power_limits.h"
#include "measure/measure.h"
#include "search/search.h"
#include "store/store.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::study {

class AxisState;

// The state of a search.
struct Standing {
  const search::Decision* decision = nullptr;  // the answer so far
  // In rounds.
  std::int32_t rounds = 0;
  std::span<const std::int64_t> batches;  // that are interleaved
  double seconds = 0, limit_seconds = 0;
};

// Events for a display; called by the measuring thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void resumed(std::span<const trial::Trial>) {}  // before the first trial
  virtual void started(const trial::Setting&) {}
  virtual void sight(const measure::TrialProgress&) {}
  virtual void standing(const Standing&) {}
  virtual void finished(const trial::Trial&) {}
};

// Marks a trial as invalid for its setting.
void refuse_as(trial::Trial& trial, const std::string& why);

// Energy is the goal, trials ran, and none reported any.
bool is_energy_unknown(search::Objective objective, std::span<const trial::Trial> trials);

using Clock = std::function<core::Seconds()>;
core::Seconds steady_now();

// Runs one trial at a setting.
using RunTrial = std::function<trial::Trial(const trial::Setting&, const measure::MeasureOptions&,
                                            const measure::Watch&, const workload::Until&)>;
// nullopt if there is none yet.
using AnswerSoFar = std::function<std::optional<advise::Recommendation>()>;

struct LoopOptions {
  measure::MeasureOptions measure;
  std::optional<core::Seconds> budget;  // for this run, whatever was spent before
  Clock now = steady_now;
  energy::PowerLimits* power_limits = nullptr;  // for settings that have one
  RunTrial run_elsewhere = {};  // each trial by itself, instead of measuring the workload here
  telemetry::Machine* machine = nullptr;  // else this one
};

// A study as far as this run took it.
struct Result {
  advise::Answer answer;  // as the store has it, unless that failed
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;  // of them, how many existed before this run
  core::Seconds spent{0};   // in this run
};

// From the store; as far as the run has it in memory if that failed. `opened`: as its writer has
// it.
trial::Study stored_study(const store::Store& store, const trial::Study& opened,
                          const Result& result);

// Asks what to measure, measures it, and stores it before anything else begins. It alone knows the
// budget, and whether it was told to stop.
class Loop {
 public:
  Loop(RunTrial run_trial, store::Writer& writer, const LoopOptions& options, Observer& observer,
       const std::atomic<int>& stop);
  // Measures this workload's steps.
  Loop(workload::Workload& workload, store::Writer& writer, const LoopOptions& options,
       Observer& observer, const std::atomic<int>& stop);

  bool may_go_on();
  // What the plans of an axis ask for, until one is settled or something ends it: rounds of the
  // batches that are interleaved, and trials of the others.
  void search(AxisState& axis, const AnswerSoFar& answer);
  // These settings, whose sessions are interleaved, until each is as precise as the options
  // require, or took as long as they allow.
  void run_together(std::span<const trial::Setting> settings, std::optional<core::Bytes> memory);
  // Whether run_together() can.
  bool interleaves() const;
  // Measures and stores one. A trial that was stopped by the user or by the budget, or whose device
  // was lost, is not a trial: it is neither stored nor returned.
  const trial::Trial* run(const trial::Setting& setting) { return run(setting, options_.measure); }
  const trial::Trial* run(const trial::Setting& setting, measure::MeasureOptions options);
  // Stores what needed no measurement, such as a setting that is predicted not to fit.
  const trial::Trial* keep(trial::Trial trial);
  // Changes outcome and note of a stored trial; its measurements stay.
  void say_of(const trial::Trial& trial);
  void set_answer(const advise::Answer& answer);  // so far
  void device_lost(const std::string& why);
  // Stores the answer, which says how the study ended, with the failure of the store or the device
  // unless it has another message.
  Result finish(advise::Answer answer);

  // Before trials that do not run() here: sets their external conditions.
  void prepare(const trial::Setting& setting);
  // After them: why they are invalid for that setting.
  std::optional<std::string> disturbed(const trial::Setting& setting) const;
  // Interleaved trials as far as they are measured, in place of those before; and stores them. The
  // last time, they are finished.
  void grow(std::vector<trial::Trial> trials);
  void save_grown(bool finished);
  void end_with_budget();  // if there is one: it was too short

  // An interleaved trial has its blocks.
  const std::vector<trial::Trial>& trials() const { return trials_; }
  // How many of them, the first, do not grow.
  std::size_t fixed() const { return trials_.size() - growing_; }
  // Changes with the trials.
  std::uint64_t revision() const { return revision_; }
  std::size_t resumed() const { return resumed_; }
  // Why no further trial may begin; nullopt: one may.
  std::optional<trial::End> end() const { return end_; }
  // Of the failure of the store or the device that ended the study.
  const std::string& error() const { return error_; }
  // The note of the interrupted trial.
  const std::string& cut_off() const { return cut_off_; }
  core::Seconds spent() const { return options_.now() - started_; }
  // Of the budget; nullopt without one.
  std::optional<core::Seconds> left() const;
  workload::Until until() const;
  const LoopOptions& options() const { return options_; }
  Observer& observer() const { return observer_; }
  telemetry::Machine& machine() const;

 private:
  void tell(AxisState& axis, const AnswerSoFar& answer);
  template <class Action>
  void tell_store(const Action& action);

  workload::Workload* workload_ = nullptr;
  RunTrial run_trial_;
  store::Writer& writer_;
  LoopOptions options_;
  Observer& observer_;
  const std::atomic<int>& stop_;
  core::Seconds started_;
  std::vector<trial::Trial> trials_;
  std::size_t resumed_ = 0, growing_ = 0;  // of the trials, the last so many may grow
  std::uint64_t revision_ = 1;
  std::optional<trial::End> end_;
  std::string error_, cut_off_;
};

}  // namespace sweetspot::study
