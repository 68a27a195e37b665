#include <fmt/format.h>

#include <utility>

#include "workload/native/memory.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

class Relay final : public Observer {
 public:
  explicit Relay(TrainingObserver& observer) : observer_(observer) {}

  void progress(const Progress& p) override {
    observer_.progress({p.epoch,
                        static_cast<double>(p.samples) / static_cast<double>(p.samples_in_epoch),
                        p.samples_per_second});
  }
  void epoch(const EpochResult& e) override {
    if (!e.complete) return;
    observer_.epoch({e.epoch, e.train_time.count(), e.train_loss, e.train_accuracy, e.test_loss,
                     e.test_accuracy, e.noise_scale()});
  }
  std::optional<std::int64_t> evaluate_after() override { return observer_.evaluate_after(); }
  bool evaluated(const trial::Evaluation& found) override { return observer_.evaluated(found); }

 private:
  TrainingObserver& observer_;
};

class NativeTraining final : public Training {
 public:
  explicit NativeTraining(Run run) : run_(std::move(run)) {}

  std::string device() const override { return native::name(run_.options.device); }
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override {
    return native::predict(run_.network, training_options_at(run_, setting), run_.dataset).total();
  }
  std::optional<std::int64_t> samples() const override {
    return static_cast<std::int64_t>(run_.dataset.train.count);
  }
  std::optional<std::int64_t> test_samples() const override {
    return static_cast<std::int64_t>(run_.dataset.test.count);
  }
  Trained train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                const Until& until) override {
    run_.options = training_options_at(run_, setting);
    run_.options.epochs = epochs;
    // Not on a GPU, where trainings to a target last a tenth of a second and measure little of it.
    run_.options.noise_scale = !run_.options.device.gpu;
    run_.trainer = trainer_options(run_.options, run_.network);
    Relay relay(observer);
    const Result result = native::train(run_, relay, until.stop);
    Trained trained;
    trained.steps = result.steps;
    for (const EpochResult& epoch : result.epochs) trained.samples += epoch.samples;
    if (result.end_point)
      trained.sharpness = result.end_point->sharpness,
      trained.end_train_loss = result.end_point->train_loss;
    trained.memory_measured = result.measured.total();
    trained.memory_by_use = result.measured;
    if (!result.epochs.empty() && result.epochs.back().noise)
      trained.noise_scale = result.epochs.back().noise->samples;
    if (result.status == Status::cancelled) {
      trained.outcome = trial::Outcome::cancelled;
      trained.note = "it was stopped before its last epoch";
    } else if (result.status == Status::diverged) {
      trained.outcome = trial::Outcome::crashed;
      trained.note = fmt::format(
          "the loss became NaN at step {}; choose a learning "
          "rate below {:g}",
          result.steps, setting.learning_rate);
    }
    return trained;
  }

 private:
  Run run_;  // at the setting of the last train()
};

}  // namespace

std::unique_ptr<Training> make_training(Run run) {
  return std::make_unique<NativeTraining>(std::move(run));
}

}  // namespace sweetspot::workload::native
