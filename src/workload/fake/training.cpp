#include "workload/fake/training.h"

#include "core/random.h"

namespace sweetspot::workload::fake {
namespace {

constexpr std::int64_t usual_samples = 60'000;
constexpr double best_accuracy = 0.992, lost_at_thousand = 0.03, most_luck = 0.0005;

}  // namespace

double test_accuracy(const trial::Setting& setting, int epochs) {
  const core::Random random(setting.seed, core::Purpose::synthetic,
                            static_cast<std::uint32_t>(setting.batch));
  const double luck = most_luck * (2 * random.uniform(static_cast<std::uint64_t>(epochs)) - 1);
  const double lost = lost_at_thousand * static_cast<double>(setting.batch) / 1000;
  return best_accuracy - lost / (epochs * epochs) + luck;
}

std::optional<core::Bytes> FakeTraining::predict(const trial::Setting& setting) const {
  return workload_.predict(setting);
}

Trained FakeTraining::train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                            const std::atomic<int>& stop) {
  const std::unique_ptr<Session> session = workload_.open(setting);
  const std::int64_t samples = workload_.samples().value_or(usual_samples);
  Trained trained;
  for (int number = 1; number <= epochs; ++number) {
    trial::Epoch epoch;
    epoch.epoch = number;
    for (std::int64_t seen = 0; seen < samples; seen += setting.batch, ++trained.steps)
      epoch.train_seconds += session->step().seconds;
    observer.progress({number, 1, static_cast<double>(samples) / epoch.train_seconds});
    if (stop != 0) {
      trained.outcome = trial::Outcome::cancelled;
      return trained;
    }
    trained.samples += samples;
    epoch.test_accuracy = test_accuracy(setting, number);
    observer.epoch(epoch);
  }
  trained.memory_measured = session->memory();
  return trained;
}

}  // namespace sweetspot::workload::fake
