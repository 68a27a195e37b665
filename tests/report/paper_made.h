#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "report/paper/paper_claims.h"

namespace sweetspot::report::paper {

// A made-up device: what a step costs whatever its batch, and what each sample adds; how much
// accuracy a batch of 1000 loses in one epoch, and how much of that is left after each further one.
struct Made {
  std::string name = "cpu";
  double fixed_seconds = 0.0001, sample_seconds = 5e-5;
  double noise_share = 0.01;  // epochs take turns above and below
  double best_accuracy = 0.992, lost_at_thousand = 0.03, left_share = 0.4;
  double utilisation_at_100 = 0.5, utilisation_at_1000 = 0.9;
  double first_epoch_factor = 1;
  int epochs = 5, seeds = 1;
};

inline trial::Trial made_trial(const Made& made, std::int64_t batch, int seed) {
  constexpr double samples = 60'000;
  trial::Trial trial;
  trial.device = made.name;
  trial.setting.batch = batch;
  trial.setting.seed = 1000 + static_cast<std::uint64_t>(seed);
  const double steps = std::ceil(samples / static_cast<double>(batch));
  const double thousands = static_cast<double>(batch) / 1000;
  double lost = made.lost_at_thousand * thousands;
  for (int number = 1; number <= made.epochs; ++number, lost *= made.left_share) {
    trial::Epoch epoch;
    epoch.epoch = number;
    epoch.train_seconds = (made.fixed_seconds * steps + made.sample_seconds * samples) *
                          (1 + made.noise_share * ((number + seed) % 2 ? 1 : -1)) *
                          (number == 1 ? made.first_epoch_factor : 1);
    epoch.test_accuracy = made.best_accuracy - lost + 0.0002 * (seed % 2 ? 1 : -1);
    trial.epochs.push_back(epoch);
    trial.steps += static_cast<std::int64_t>(steps);
  }
  const double busy =
      made.utilisation_at_100 +
      (made.utilisation_at_1000 - made.utilisation_at_100) * (thousands - 0.1) / 0.9;
  for (int i = 0; i <= 4; ++i) {
    trial::Reading reading;
    reading.at_seconds = i;
    reading.utilisation_share = busy;
    trial.trace.push_back(reading);
  }
  return trial;
}

inline Experiment made_experiment(const std::vector<Made>& devices,
                                  std::vector<std::int64_t> batches = {100, 200, 300, 400, 500, 600,
                                                                       700, 800, 900, 1000}) {
  Experiment experiment;
  experiment.batches = batches;
  experiment.workload = "paper-cnn on mnist";
  for (const Made& made : devices) {
    Device device;
    device.name = made.name;
    device.hardware = "made up";
    for (int seed = 0; seed < made.seeds; ++seed)
      for (const std::int64_t batch : batches)
        device.trials.push_back(made_trial(made, batch, seed));
    experiment.devices.push_back(device);
  }
  if (!experiment.gpu()) experiment.no_gpu = "no GPU can be used here";
  return experiment;
}

// A GPU as the paper's desktop had it: a step costs milliseconds whatever its batch.
inline Made slow_launches() {
  Made made;
  made.name = "cuda:0";
  made.fixed_seconds = 3e-3, made.sample_seconds = 1e-6;
  return made;
}

// One whose engine has next to no overhead.
inline Made quick_launches() {
  Made made = slow_launches();
  made.fixed_seconds = 1e-6, made.sample_seconds = 1e-6;
  made.utilisation_at_100 = made.utilisation_at_1000 = 0.97;
  return made;
}

}  // namespace sweetspot::report::paper
