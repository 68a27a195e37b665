#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "energy/power_limits.h"
#include "measure/measure.h"
#include "search/search.h"
#include "store/store.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::study {

// The state of a search in rounds.
struct Standing {
  const search::Decision* decision = nullptr;  // the answer so far
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

using Clock = std::function<core::Seconds()>;
core::Seconds steady_now();

// Runs one trial at a setting.
using RunTrial = std::function<trial::Trial(const trial::Setting&, const measure::MeasureOptions&,
                                            const measure::Watch&, const std::atomic<int>& stop)>;

struct LoopOptions {
  measure::MeasureOptions measure;
  std::optional<core::Seconds> budget;  // for this run, whatever was spent before
  Clock now = steady_now;
  energy::PowerLimits* power_limits = nullptr;  // for settings that have one
  RunTrial run_elsewhere = {};  // each trial by itself, instead of measuring the workload here
};

// Runs settings one by one, or takes the trials of interleaved settings, and stores each before
// anything else begins.
class Loop {
 public:
  Loop(RunTrial run_trial, store::Writer& writer, const LoopOptions& options, Observer& observer,
       const std::atomic<int>& stop);
  // Trials that measure this workload's steps.
  Loop(workload::Workload& workload, store::Writer& writer, const LoopOptions& options,
       Observer& observer, const std::atomic<int>& stop);

  bool may_go_on();
  // Before trials that do not run() here: sets their external conditions.
  void prepare(const trial::Setting& setting);
  // After them: why they are invalid for that setting.
  std::optional<std::string> disturbed(const trial::Setting& setting) const;
  // Measures and stores it. A trial that was stopped by the user or by the budget, or whose device
  // was lost, is not a trial: it is neither stored nor returned.
  const trial::Trial* run(const trial::Setting& setting) { return run(setting, options_.measure); }
  const trial::Trial* run(const trial::Setting& setting, measure::MeasureOptions options);
  // Stores what needed no measurement, such as a setting that is predicted not to fit.
  const trial::Trial* keep(trial::Trial trial);
  // Stores interleaved trials as far as they are measured, replacing earlier versions; the last
  // time, they are finished.
  void keep_growing(std::vector<trial::Trial> trials, bool finished);
  // Changes outcome and note of a stored trial; its measurements stay.
  void say_of(std::int64_t trial, trial::Outcome outcome, const std::string& note);
  void set_answer(const std::string& answer);
  void device_lost(const std::string& why);
  void end_with_budget();  // if there is one: it was too short
  void close();            // stores how the study ended

  // An interleaved trial has its blocks.
  const std::vector<trial::Trial>& trials() const { return trials_; }
  std::size_t resumed() const { return resumed_; }
  // Why no further trial may begin.
  advise::CutShort end() const { return end_; }
  // Of the failure of the store or the device that ended the study.
  const std::string& error() const { return error_; }
  // The note of the interrupted trial.
  const std::string& cut_off() const { return cut_off_; }
  core::Seconds spent() const { return options_.now() - started_; }
  const LoopOptions& options() const { return options_; }
  Observer& observer() const { return observer_; }
  const std::atomic<int>& stop() const { return stop_; }

 private:
  bool budget_is_spent() const { return options_.budget && spent() >= *options_.budget; }
  template <class Action>
  void tell_store(const Action& action);

  RunTrial run_trial_;
  store::Writer& writer_;
  LoopOptions options_;
  Observer& observer_;
  const std::atomic<int>& stop_;
  core::Seconds started_;
  std::vector<trial::Trial> trials_;
  std::size_t resumed_ = 0, growing_ = 0;  // of the trials, the last so many may grow
  advise::CutShort end_ = advise::CutShort::no;
  std::string error_, cut_off_;
};

}  // namespace sweetspot::study
