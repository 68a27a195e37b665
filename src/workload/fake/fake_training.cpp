#include "workload/fake/fake_training.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace sweetspot::workload::fake {
namespace {

constexpr std::int64_t usual_samples = 60'000;
constexpr double best_accuracy = 0.992, lost_at_thousand = 0.03, most_luck = 0.0005;
constexpr double first_error = 0.1, error_of_99 = 0.01;

}  // namespace

double test_accuracy(const trial::Setting& setting, int epochs) {
  const core::Random random(setting.seed, core::Purpose::synthetic,
                            static_cast<std::uint32_t>(setting.batch));
  const double luck = most_luck * (2 * random.uniform(static_cast<std::uint64_t>(epochs)) - 1);
  const double lost = lost_at_thousand * static_cast<double>(setting.batch) / 1000;
  return best_accuracy - lost / (epochs * epochs) + luck;
}

// The error is a tenth at the start and a hundredth after as many samples as 99% takes.
double samples_to(const Learning& learning, const trial::Setting& setting, double accuracy) {
  constexpr std::uint32_t luck_stream = 3;
  const core::Random random(setting.seed, core::Purpose::synthetic, 0, luck_stream);
  const double wanted = learning.samples_to_99 *
                        (1 + static_cast<double>(setting.batch) / learning.critical_batch) *
                        std::exp(learning.seed_deviation * random.normal(0));
  return wanted * (first_error / (1 - accuracy) - 1) / (first_error / error_of_99 - 1);
}

double test_accuracy(const Learning& learning, const trial::Setting& setting, double samples) {
  const double progress = samples / samples_to(learning, setting, 1 - error_of_99);
  return std::min(learning.best_accuracy,
                  1 - first_error / (1 + (first_error / error_of_99 - 1) * progress));
}

std::optional<core::Bytes> FakeTraining::predict(const trial::Setting& setting) const {
  return workload_.predict(setting);
}

double FakeTraining::accuracy(const trial::Setting& setting, int epochs,
                              std::int64_t samples) const {
  return learning_ ? test_accuracy(*learning_, setting, static_cast<double>(samples))
                   : test_accuracy(setting, epochs);
}

Trained FakeTraining::train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                            const std::atomic<int>& stop) {
  constexpr std::int64_t diverging_step = 3;
  const std::unique_ptr<Session> session = workload_.open(setting);
  const std::int64_t samples = workload_.samples().value_or(usual_samples);
  Trained trained;
  trial::Evaluation at;
  const auto evaluate = [&](int number) {
    at.steps = trained.steps;
    at.test_accuracy = accuracy(setting, number, at.samples);
    if (learning_ && learning_->tells_noise_scale) at.noise_scale = learning_->critical_batch;
    return observer.evaluated(at);
  };
  for (int number = 1; number <= epochs; ++number) {
    trial::Epoch epoch;
    epoch.epoch = number;
    for (std::int64_t seen = 0; seen < samples;) {
      const double seconds = session->step().seconds;
      const std::int64_t taken = std::min(setting.batch, samples - seen);
      epoch.train_seconds += seconds, at.train_seconds += seconds;
      seen += taken, at.samples += taken, ++trained.steps;
      if (learning_ && learning_->diverges_above && trained.steps == diverging_step &&
          setting.learning_rate > *learning_->diverges_above) {
        trained.outcome = trial::Outcome::crashed;
        trained.note = "the loss was no number any more at step 3";
        return trained;
      }
      const auto due = observer.evaluate_after();
      if (!due || at.samples < *due || seen == samples) continue;
      if (!evaluate(number)) {
        trained.samples = at.samples;
        return trained;
      }
    }
    observer.progress({number, 1, static_cast<double>(samples) / epoch.train_seconds});
    if (stop != 0) {
      trained.outcome = trial::Outcome::cancelled;
      return trained;
    }
    trained.samples += samples;
    const bool goes_on = evaluate(number);
    epoch.test_accuracy = at.test_accuracy;
    observer.epoch(epoch);
    if (!goes_on) break;
  }
  trained.memory_measured = session->memory();
  return trained;
}

}  // namespace sweetspot::workload::fake
