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
  std::optional<trial::Step> take();                     // the next step, if one is known
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
  void ran(double seconds);

  void tell(trial::SessionReport& report) const override { report.step_source = "whole runs"; }

 private:
  std::int64_t samples_of_run_, batch_;
};

}  // namespace sweetspot::workload::command
