#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "trial/trial.h"

namespace sweetspot::workload::command {

// Where the steps of a trial come from.
class StepSource {
 public:
  virtual ~StepSource() = default;
  // The next step, if one is known.
  std::optional<trial::Step> take() {
    if (steps_.empty()) return std::nullopt;
    const trial::Step step = steps_.front();
    steps_.pop_front();
    return step;
  }
  std::size_t waiting() const { return steps_.size(); }  // known steps to take
  // Where the start-up ended, by process::now_seconds().
  virtual std::optional<double> first_mark() const { return std::nullopt; }
  // So far, besides the steps: updates whose time is unknown.
  virtual std::int64_t untimed_updates() const { return 0; }
  // Adds its name, and what it shows of the program's batch.
  virtual void tell(trial::SessionReport& report) const = 0;

 protected:
  void add(const trial::Step& step) { steps_.push_back(step); }

 private:
  std::deque<trial::Step> steps_;
};

// Each run of the program is a step, including its start-up.
class WholeRuns final : public StepSource {
 public:
  WholeRuns(std::int64_t samples_of_run, std::int64_t batch)
      : samples_of_run_(samples_of_run), batch_(batch) {}
  void ran(double seconds) {
    trial::Step step{.seconds = seconds, .samples = samples_of_run_};
    if (samples_of_run_ > batch_) {
      // A step is whole updates: the time of the remainder is subtracted in proportion.
      step.updates = samples_of_run_ / batch_;
      step.samples = step.updates * batch_;
      step.seconds *= static_cast<double>(step.samples) / static_cast<double>(samples_of_run_);
    }
    add(step);
  }

  void tell(trial::SessionReport& report) const override { report.step_source = "whole runs"; }

 private:
  std::int64_t samples_of_run_, batch_;
};

}  // namespace sweetspot::workload::command
