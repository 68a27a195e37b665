#pragma once
#include "measure/measure.h"
#include "trial/target.h"
#include "workload/training.h"

namespace sweetspot::measure {

// How long a trial trains: to the last of these epochs, or until an evaluation reaches the target.
struct TrainFor {
  int epochs = 1;
  std::optional<trial::Target> target{};
  // With a target: it is given up after so many samples, or after so long, evaluations included.
  std::optional<std::int64_t> most_samples{};
  std::optional<double> most_seconds{};
};

// One trial that trains rather than samples steps, evaluating after each epoch, and on its way to a
// target more often. Outcomes, contention and `stop` are as measure()'s; Trial::epochs and
// Trial::evaluations have what came of it. Not reaching the target is no failure.
trial::Trial train(workload::Training& training, const trial::Setting& setting,
                   const TrainFor& wanted, const Watch& watch, const std::atomic<int>& stop);
trial::Trial train(workload::Training& training, const trial::Setting& setting,
                   const TrainFor& wanted, const Watch& watch, const std::atomic<int>& stop,
                   telemetry::Machine& machine);

}  // namespace sweetspot::measure
