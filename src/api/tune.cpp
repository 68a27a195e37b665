#include "study/tune.h"

#include <sweetspot/tune.h>

#include <cmath>

#include "api/answer.h"
#include "api/options.h"
#include "api/progress.h"
#include "api/study_store.h"
#include "core/error.h"

namespace sweetspot {
namespace {

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

study::TuneOptions tune_options(const Options& options, const api::Handed& handed) {
  study::TuneOptions made;
  made.limits = api::limits_of(options);
  made.limits.memory_limit = handed.memory_limit;
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
  const study::TuneOptions asked = tune_options(options, handed);
  const api::Kept kept = api::keep(options, asked.limits);
  workload::callback::CallbackWorkload workload(options.name, std::move(handed.functions));
  std::atomic<int> stop{0};
  const std::stop_callback on_stop(options.stop, [&stop] { stop = api::stop_at_once; });
  api::Teller teller(options.progress, stop);
  const study::TuneResult found = study::tune(workload, *kept.writer, asked, teller, stop);
  teller.rethrow();
  return api::answer(found, options.name,
                     kept.store ? std::to_string(kept.writer->study().id) : "");
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
