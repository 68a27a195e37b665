#include "api/progress.h"

#include <cxxabi.h>

#include "api/answer.h"

namespace sweetspot::api {

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
    progress.samples_per_second = public_interval(*sight.samples_per_second);
  tell(progress);
}

void Teller::finished(const trial::Trial& trial) {
  const Trial seen = public_trial(trial);
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

}  // namespace sweetspot::api
