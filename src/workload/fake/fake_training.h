#pragma once
#include <utility>

#include "workload/fake/fake.h"
#include "workload/training.h"

namespace sweetspot::workload::fake {

// After so many epochs at this batch: fewer updates have learned less. A seed moves it by up to a
// twentieth of a percent either way.
double test_accuracy(const trial::Setting& setting, int epochs);
// Of a network that learns by a law, after so many samples.
double test_accuracy(const Learning& learning, const trial::Setting& setting, double samples);
// What it takes to reach an accuracy that is below the best.
double samples_to(const Learning& learning, const trial::Setting& setting, double accuracy);

// Epochs of a fake machine's steps, in virtual time.
class FakeTraining : public Training {
 public:
  explicit FakeTraining(Options options)
      : learning_(options.learning), workload_(std::move(options)) {}
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override;
  std::optional<std::int64_t> samples() const override { return workload_.samples(); }
  Trained train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                const std::atomic<int>& stop) override;
  bool takes_real_time() const override { return false; }

 private:
  double accuracy(const trial::Setting& setting, int epochs, std::int64_t samples) const;

  std::optional<Learning> learning_;
  FakeWorkload workload_;
};

}  // namespace sweetspot::workload::fake
