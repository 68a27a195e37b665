#include "tuning/tune.h"

#include <cxxabi.h>
#include <sweetspot/tune.h>

#include <cmath>
#include <exception>

#include "api/answer.h"
#include "api/options.h"
#include "api/study_store.h"
#include "core/error.h"

namespace sweetspot {
namespace {

// The value of measure()'s `stop` that cancels this trial.
constexpr int stop_at_once = 2;

// Forwards the loop's events to the caller's function. Its exceptions would be taken for a failed
// trial: they are kept here and stop the study instead.
class Teller : public study::Observer {
 public:
  Teller(const std::function<void(const Progress&)>& progress, std::atomic<int>& stop)
      : progress_(progress), stop_(stop) {}
  void started(const trial::Setting& setting) override;
  void sight(const measure::TrialProgress& sight) override;
  void finished(const trial::Trial& trial) override;
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  void tell(const Progress& progress);

  const std::function<void(const Progress&)>& progress_;
  std::atomic<int>& stop_;
  std::exception_ptr thrown_;
};

void Teller::started(const trial::Setting& setting) {
  Progress progress;
  progress.batch = static_cast<int>(setting.batch);
  tell(progress);
}

void Teller::sight(const measure::TrialProgress& sight) {
  Progress progress;
  progress.state = sight.warming_up ? Progress::State::warming_up : Progress::State::sampling;
  progress.batch = static_cast<int>(sight.setting->batch);
  progress.steps = sight.steps;
  if (sight.samples_per_second)
    progress.samples_per_second = api::public_interval(*sight.samples_per_second);
  tell(progress);
}

void Teller::finished(const trial::Trial& trial) {
  const Trial seen = api::public_trial(trial);
  Progress progress;
  progress.state = Progress::State::finished;
  progress.batch = seen.batch;
  progress.steps = trial.steps;
  progress.samples_per_second = seen.samples_per_second;
  progress.trial = &seen;
  tell(progress);
}

void Teller::tell(const Progress& progress) {
  if (!progress_ || thrown_) return;
  try {
    progress_(progress);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    thrown_ = std::current_exception();
    stop_ = stop_at_once;
  }
}

// Two concurrent studies would measure each other.
class TheOnlyStudy {
 public:
  TheOnlyStudy() {
    if (running.test_and_set())
      throw core::InputError(
          "a study is running in this process already; wait for it before the next tune()");
  }
  ~TheOnlyStudy() { running.clear(); }
  TheOnlyStudy(const TheOnlyStudy&) = delete;
  TheOnlyStudy& operator=(const TheOnlyStudy&) = delete;

 private:
  static inline std::atomic_flag running;
};

tuning::TuneOptions tune_options(const Options& options, const api::Handed& handed) {
  tuning::TuneOptions made;
  made.limits = api::limits_of(options);
  made.limits.memory.limit = handed.memory_limit;
  // The trials of a batch are averaged: together they reach the requested precision.
  made.loop.measure.precision = options.precision * std::sqrt(options.repeats);
  made.loop.measure.max_time = made.loop.measure.max_warm_up = options.trial_time;
  made.loop.budget = options.budget;
  return made;
}

Result tuned(const Options& options, const Hooks& hooks) {
  const TheOnlyStudy only;
  api::check(options);
  api::Handed handed = api::handed(hooks, options);
  const tuning::TuneOptions asked = tune_options(options, handed);
  const api::Kept kept = api::keep(options, asked.limits);
  workload::callback::CallbackWorkload workload(options.name, std::move(handed.functions));
  std::atomic<int> stop{0};
  const std::stop_callback on_stop(options.stop, [&stop] { stop = stop_at_once; });
  Teller teller(options.progress, stop);
  const tuning::TuneResult found = tuning::tune(workload, *kept.writer, asked, teller, stop);
  teller.rethrow();
  report::ShownStudy study = report::shown_study(
      study::stored_study(*kept.store, kept.writer->study(), found),
      report::RunInfo{found.answer.end, found.answer.message, found.resumed, found.spent.count()});
  if (options.store.empty()) study.number.clear();
  return api::answer(study);
}

}  // namespace

Result tune(const Options& options, const Hooks& hooks) {
  try {
    return tuned(options, hooks);
  } catch (const core::InputError& error) {
    throw InputError(error.what());
  } catch (const core::Error& error) {
    throw Error(error.what());
  }
}

Result tune(const Options& options, const Run& run) {
  Hooks hooks;
  hooks.run = run;
  return tune(options, hooks);
}

}  // namespace sweetspot
