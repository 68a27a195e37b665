#include "workload/command/step_source.h"

namespace sweetspot::workload::command {

std::optional<trial::Step> StepSource::take() {
  if (steps_.empty()) return std::nullopt;
  const trial::Step step = steps_.front();
  steps_.pop_front();
  return step;
}

void WholeRuns::ran(double seconds) {
  trial::Step step;
  step.seconds = seconds;
  step.samples = samples_of_run_;
  if (samples_of_run_ > batch_) {
    // A step is whole updates: the time of the remainder is subtracted in proportion.
    step.updates = samples_of_run_ / batch_;
    step.samples = step.updates * batch_;
    step.seconds *= static_cast<double>(step.samples) / static_cast<double>(samples_of_run_);
  }
  add(step);
}

}  // namespace sweetspot::workload::command
