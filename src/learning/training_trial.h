#pragma once
#include <cstdint>
#include <optional>

#include "measure/measure.h"
#include "telemetry/machine.h"
#include "trial/target.h"
#include "workload/training.h"

namespace sweetspot::learning {

// When to check whether a run has reached its target. An evaluation of the test split costs as much
// as training on a third of its size, so it is rare far from the target; close to it, it runs after
// every further tenth of the samples, and the time is interpolated in between.
class EvaluationSchedule {
 public:
  EvaluationSchedule(const trial::Target& target, std::optional<std::int64_t> samples_in_epoch);
  std::int64_t next() const { return next_; }  // after this many samples of the run
  void evaluated(const trial::Evaluation& evaluation);

 private:
  trial::Target target_;
  std::int64_t next_ = 1;
};

// How long a trial trains: to the last of these epochs, or until an evaluation reaches the target.
struct TrainFor {
  int epochs = 1;
  std::optional<trial::Target> target{};
  // With a target: stops after this many samples.
  std::optional<std::int64_t> most_samples{};
};

// One trial that trains rather than samples steps, with an evaluation after each epoch, and more
// often on its way to a target. Outcomes and contention are as in measure::measure();
// Trial::epochs and Trial::evaluations have the results. Not reaching the target is not a failure.
trial::Trial train(workload::Training& training, const trial::Setting& setting,
                   const TrainFor& wanted, const measure::Watch& watch,
                   const workload::Until& until,
                   telemetry::Machine& machine = telemetry::this_machine());

}  // namespace sweetspot::learning
