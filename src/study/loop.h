#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "store/store.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::study {

// What a display hears; called by the thread that measures.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void resumed(std::span<const trial::Trial>) {}  // before the first trial
  virtual void started(const trial::Setting&) {}
  virtual void sight(const measure::Sight&) {}
  virtual void finished(const trial::Trial&) {}
};

// Why no further trial may begin.
enum class End { none, stopped, budget, store_failed, device_lost };

using Clock = std::function<core::Seconds()>;
core::Seconds steady_now();

struct LoopOptions {
  measure::MeasureOptions measure;
  std::optional<core::Seconds> budget;  // of this run, whatever was spent before
  // How long trials may wait, all together, for a machine that is slower than it was to recover.
  core::Seconds patience{10};
  Clock now = steady_now;
};

// One trial at a setting: what a loop does again and again.
using RunTrial = std::function<trial::Trial(const trial::Setting&, const measure::MeasureOptions&,
                                            const measure::Watch&, const std::atomic<int>& stop)>;

// Runs settings one by one and keeps each in the store before the next begins.
class Loop {
 public:
  Loop(RunTrial run_trial, store::Writer& writer, const LoopOptions& options, Observer& observer,
       const std::atomic<int>& stop);
  // Trials that measure this workload's steps.
  Loop(workload::Workload& workload, store::Writer& writer, const LoopOptions& options,
       Observer& observer, const std::atomic<int>& stop);

  bool may_go_on();
  // Measures and keeps it. A trial that was stopped half-way, by the user or by the budget's end,
  // or whose device was lost, is no trial: it is neither kept nor returned.
  const trial::Trial* run(const trial::Setting& setting);
  // Keeps what needed no measuring, such as a setting that is predicted not to fit.
  const trial::Trial* keep(trial::Trial trial);
  void close();  // says in the store how the study ended

  const std::vector<trial::Trial>& trials() const { return trials_; }
  std::size_t resumed() const { return resumed_; }
  End end() const { return end_; }
  // Of the store or the device that ended the study.
  const std::string& error() const { return error_; }
  core::Seconds spent() const { return options_.now() - started_; }

 private:
  bool budget_is_spent() const { return options_.budget && spent() >= *options_.budget; }
  template <class Action>
  bool told_store(const Action& action);

  RunTrial run_trial_;
  store::Writer& writer_;
  LoopOptions options_;
  Observer& observer_;
  const std::atomic<int>& stop_;
  core::Seconds started_, waited_{0};
  std::vector<trial::Trial> trials_;
  std::size_t resumed_ = 0;
  End end_ = End::none;
  std::string error_;
};

}  // namespace sweetspot::study
