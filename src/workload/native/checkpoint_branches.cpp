#include <fmt/format.h>

#include <cmath>

#include "convergence/noise_scale.h"
#include "core/error.h"
#include "engine/gradient_norms.h"
#include "workload/native/epochs.h"
#include "workload/native/feed.h"
#include "workload/native/memory.h"
#include "workload/native/weights_file.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

class NativeBranching final : public Branching {
 public:
  NativeBranching(Run run, int epochs) : run_(std::move(run)), epochs_(epochs) {
    if (run_.options.device.gpu)
      throw core::InputError(
          "the critical batch is measured on the CPU so far, whose training can be continued from "
          "a checkpoint; add --device cpu");
  }

  std::optional<core::Bytes> predict(const trial::Setting& setting) const override {
    return native::predict(run_.network, training_options_at(run_, setting), run_.dataset).total();
  }

  std::optional<BranchPoint> begin(const std::atomic<int>& stop) override {
    trainer_ = make_trainer(run_, run_.options);
    if (run_.options.load)
      trainer_->assign(load_weights(*run_.options.load, trainer_->variables()));
    data::Pipeline batches(run_.dataset.train, run_.options.pipeline, &stop);
    data::Batch batch;
    for (int epoch = 0; epoch < epochs_; ++epoch) {
      batches.start_epoch(static_cast<std::uint32_t>(epoch));
      while (batches.next(batch)) {
        const double loss = trainer_->step(view(batch), run_.options.micro_batch()).loss;
        if (!std::isfinite(loss))
          throw core::InputError(
              fmt::format("the loss became NaN on the way to the checkpoint, at step {}; choose a "
                          "learning rate below --lr {:g}",
                          trainer_->steps_done(), run_.options.optimizer.learning_rate));
      }
    }
    if (stop != 0) return std::nullopt;
    checkpoint_ = trainer_->checkpoint();
    BranchPoint point;
    point.epochs = epochs_;
    point.noise_scale = noise_scale(stop);
    point.loss = test_loss(stop);
    if (stop != 0) return std::nullopt;
    return point;
  }

  Branch branch(const trial::Setting& setting, std::int64_t samples,
                const std::atomic<int>& stop) override {
    const Options options = training_options_at(run_, setting);
    trainer_->restore(checkpoint_);
    data::Pipeline batches(run_.dataset.train, options.pipeline, &stop);
    Branch branch;
    data::Batch batch;
    for (auto epoch = static_cast<std::uint32_t>(epochs_); branch.samples < samples && stop == 0;
         ++epoch) {
      batches.start_epoch(epoch);
      while (branch.samples < samples && batches.next(batch)) {
        const double left = 1 - static_cast<double>(branch.samples) / static_cast<double>(samples);
        trainer_->set_learning_rate(left * setting.learning_rate);
        const double loss = trainer_->step(view(batch), options.micro_batch()).loss;
        ++branch.steps, branch.samples += batch.count;
        if (!std::isfinite(loss)) return diverged(branch, setting);
      }
    }
    branch.loss = test_loss(stop);
    trainer_->release(options.micro_batch());
    if (stop != 0) {
      branch.outcome = trial::Outcome::cancelled;
      branch.note = "it was stopped before its end";
    } else if (!std::isfinite(branch.loss)) {
      return diverged(branch, setting);
    }
    return branch;
  }

 private:
  static Branch diverged(Branch branch, const trial::Setting& setting) {
    branch.outcome = trial::Outcome::crashed;
    branch.note = fmt::format("the loss became NaN at step {}, at learning rate {:g}", branch.steps,
                              setting.learning_rate);
    return branch;
  }

  // At the checkpoint's weights, from some large batches: as precise as a few seconds allow.
  std::optional<stats::Interval> noise_scale(const std::atomic<int>& stop) {
    constexpr std::int64_t largest = 1024, times = 24;
    data::PipelineOptions pipeline = end_point_pipeline(run_.dataset.train);
    pipeline.batch = std::min(
        largest,
        std::max<std::int64_t>(2, static_cast<std::int64_t>(run_.dataset.train.count) / 4));
    if (static_cast<std::size_t>(pipeline.batch) > run_.dataset.train.count) return std::nullopt;
    data::Pipeline batches(run_.dataset.train, pipeline, &stop);
    convergence::NoiseScale noise(1);
    data::Batch batch;
    batches.start_epoch(0);
    for (std::int64_t i = 0; i < times && batches.next(batch); ++i)
      noise.add(engine::gradient_norms(*trainer_, run_.network, view(batch), micro_batch));
    trainer_->release(micro_batch);
    const auto estimate = noise.estimate();
    return estimate ? estimate->samples : std::nullopt;
  }

  double test_loss(const std::atomic<int>& stop) {
    data::Pipeline batches(run_.dataset.test, evaluation_pipeline(run_.dataset.test), &stop);
    Sums sums;
    data::Batch batch;
    batches.start_epoch(0);
    while (batches.next(batch)) sums.add(trainer_->evaluate(view(batch)), batch.count);
    return sums.mean_loss();
  }

  static constexpr std::int64_t micro_batch = 64;  // of the noise's passes

  Run run_;
  int epochs_;
  std::unique_ptr<engine::Trainer> trainer_;
  engine::Checkpoint checkpoint_;
};

}  // namespace

std::unique_ptr<Branching> make_branching(Run run, int epochs) {
  return std::make_unique<NativeBranching>(std::move(run), epochs);
}

}  // namespace sweetspot::workload::native
