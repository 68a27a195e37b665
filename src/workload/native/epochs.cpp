#include "workload/native/epochs.h"

#include <algorithm>
#include <chrono>

#include "engine/gradient_norms.h"
#include "workload/native/asynchronous.h"
#include "workload/native/feed.h"
#include "workload/native/resident.h"
#include "workload/steps_per_call.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// Batches from the pipeline, of both splits.
class FedEpochs : public Epochs {
 public:
  FedEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : options_(options),
        stop_(stop),
        batches_(run.dataset.train, options.pipeline, alone_or_null(options, stop)),
        micro_batch_(options.micro_batch()) {
    if (options.evaluate)
      test_batches_.emplace(run.dataset.test, evaluation_pipeline(run.dataset.test, options.ranks),
                            alone_or_null(options, stop));
  }

  void start(std::uint32_t epoch) override { batches_.start_epoch(epoch); }
  void set_batch(std::int64_t batch) override {
    batches_.set_batch(batch);
    micro_batch_ = options_.micro_batch(batch);
  }
  core::Seconds waited() const override { return batches_.waited(); }

  Sums evaluate() override {
    Sums sums;
    data::Batch batch;
    test_batches_->start_epoch(0);
    while (test_batches_->next(batch))
      if (batch.count > 0) sums.add(trainer().evaluate(view(batch)), batch.count);
    sums.stopped = stop_ != 0;
    sum_over_ranks(sums, {});
    return sums;
  }

 protected:
  // Allocates everything now, not after an epoch: a run without enough memory ends immediately.
  void take_memory() {
    for (const std::int64_t micro_batch : options_.micro_batches()) trainer().prepare(micro_batch);
    if (options_.evaluate) trainer().evaluate({});  // an empty batch: makes its plan
  }

  void sum_over_ranks(Sums& sums, std::span<double> others) const {
    if (!options_.ranks.group) return;
    std::vector<double> all{sums.loss, static_cast<double>(sums.correct),
                            static_cast<double>(sums.samples), sums.stopped ? 1. : 0.};
    all.insert(all.end(), others.begin(), others.end());
    options_.ranks.group->sum(all);
    sums = {all[0], static_cast<std::int64_t>(all[1]), static_cast<std::int64_t>(all[2]),
            all[3] > 0};
    std::copy(all.begin() + 4, all.end(), others.begin());
  }

  const Options options_;
  const std::atomic<int>& stop_;
  data::Pipeline batches_;
  std::int64_t micro_batch_;

 private:
  // Ranks stop together, in a step that all have made, and not while one of them waits for data.
  static const std::atomic<int>* alone_or_null(const Options& options,
                                               const std::atomic<int>& stop) {
    return options.ranks.group ? nullptr : &stop;
  }

  std::optional<data::Pipeline> test_batches_;
};

class CpuEpochs final : public FedEpochs {
 public:
  CpuEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : FedEpochs(run, options, stop), trainer_(make_trainer(run, options)) {
    take_memory();
  }
  // The weights are shared as they are when training begins.
  void start(std::uint32_t epoch) override {
    FedEpochs::start(epoch);
    if (options_.ranks.asynchronous && !asynchronous_)
      asynchronous_.emplace(*options_.ranks.group, *trainer_);
  }
  engine::Trainer& trainer() override { return *trainer_; }
  core::MemoryByUse memory() const override { return core::live_buffers(); }

  std::span<const Update> next(std::int64_t most) override {
    data::Batch batch;
    if (most < 1 || !batches_.next(batch)) return {};
    done_ = {asynchronous_ ? asynchronous_->step(view(batch), micro_batch_)
                           : trainer_->step(view(batch), micro_batch_),
             batch.whole};
    return {&done_, 1};
  }

  void gather(EpochEnd& end) override {
    if (!asynchronous_) return;
    double others[] = {static_cast<double>(end.steps), end.diverged ? 1. : 0.};
    sum_over_ranks(end.sums, others);
    end.steps = static_cast<std::int64_t>(others[0]), end.diverged = others[1] > 0;
    asynchronous_->read();
  }
  std::vector<std::int64_t> staleness() const override {
    if (!asynchronous_) return {};
    std::vector<double> sums(asynchronous_->staleness().begin(), asynchronous_->staleness().end());
    options_.ranks.group->sum(sums);
    while (!sums.empty() && sums.back() == 0) sums.pop_back();
    return {sums.begin(), sums.end()};
  }

 private:
  std::unique_ptr<engine::Trainer> trainer_;
  std::optional<AsynchronousUpdates> asynchronous_;
  Update done_;
};

class FedGpuEpochs final : public FedEpochs {
 public:
  FedGpuEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : FedEpochs(run, options, stop),
        trainer_(make_gpu_trainer(run, options)),
        steps_per_call_(least_epoch_part_seconds) {
    take_memory();
  }
  engine::Trainer& trainer() override { return *trainer_; }
  core::MemoryByUse memory() const override { return trainer_->memory(); }

  std::span<const Update> next(std::int64_t most) override {
    updates_.clear();
    data::Batch batch;
    const std::int64_t asked =
        std::min(most, of_first_rank(options_.ranks, steps_per_call_.steps()));
    const auto begin = Clock::now();
    while (static_cast<std::int64_t>(updates_.size()) < asked && batches_.next(batch)) {
      trainer_->queue(view(batch), micro_batch_);
      updates_.push_back({{}, batch.whole});
    }
    std::vector<engine::StepResult> results = trainer_->finish();
    for (std::size_t i = 0; i < updates_.size(); ++i) updates_[i].result = results[i];
    if (static_cast<std::int64_t>(updates_.size()) == steps_per_call_.steps())
      steps_per_call_.took(core::Seconds(Clock::now() - begin).count());
    return updates_;
  }

 private:
  std::unique_ptr<engine::cuda::ResidentTrainer> trainer_;
  StepsPerCall steps_per_call_;
  std::vector<Update> updates_;
};

// The data set lies on the GPU: an epoch is a few starts of many steps each, and the host makes the
// next order meanwhile.
class ResidentEpochs final : public Epochs {
 public:
  ResidentEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : network_(run.network),
        options_(options),
        stop_(stop),
        trainer_(make_gpu_trainer(run, options)),
        orders_(run.dataset.train.count, options.pipeline),
        samples_(static_cast<std::int64_t>(run.dataset.train.count)),
        test_samples_(static_cast<std::int64_t>(run.dataset.test.count)),
        batch_(options.batch()),
        steps_per_call_(least_epoch_part_seconds) {
    for (const std::int64_t micro_batch : options.micro_batches()) trainer_->prepare(micro_batch);
    if (options.evaluate) trainer_->evaluate({});  // of nothing: makes its plan
    orders_.at(0);
  }

  engine::Trainer& trainer() override { return *trainer_; }

  void start(std::uint32_t epoch) override {
    epoch_ = epoch, done_samples_ = 0, waited_ = {};
    const auto begin = Clock::now();
    order_ = orders_.at(epoch);
    waited_ = Clock::now() - begin;
  }

  void set_batch(std::int64_t batch) override { batch_ = batch; }

  std::span<const Update> next(std::int64_t most) override {
    updates_.clear();
    if (!options_.ranks.group && stop_ != 0) return {};  // ranks stop after the same step
    const std::int64_t batch = batch_;
    std::int64_t left = samples_ - done_samples_;
    if (options_.pipeline.drop_last) left -= left % batch;
    const std::int64_t steps =
        std::min({most, whole_graphs(of_first_rank(options_.ranks, steps_per_call_.steps())),
                  (left + batch - 1) / batch});
    if (steps < 1) return {};
    const std::int64_t taken = std::min(left, steps * batch);
    const auto begin = Clock::now();
    trainer_->start(
        order_.subspan(static_cast<std::size_t>(done_samples_), static_cast<std::size_t>(taken)),
        batch, options_.micro_batch(batch));
    if (taken == left) orders_.at(epoch_ + 1);  // while the device works
    for (const engine::StepResult& result : trainer_->finish())
      updates_.push_back(
          {result, std::min(batch, taken - batch * static_cast<std::int64_t>(updates_.size()))});
    done_samples_ += taken;
    if (steps >= steps_per_call_.steps())
      steps_per_call_.took(core::Seconds(Clock::now() - begin).count());
    return updates_;
  }
  core::Seconds waited() const override { return waited_; }

  std::optional<double> squared_norm_of(std::span<const std::uint32_t> samples,
                                        std::int64_t micro_batch) override {
    return engine::squared_gradient_norm(
        *trainer_, network_, [&] { trainer_->accumulate_resident(samples, micro_batch); });
  }

  Sums evaluate() override {
    Sums sums;
    sums.add(trainer_->evaluate_resident(), test_samples_);  // each rank all of it
    double stopped = stop_ != 0 ? 1 : 0;
    if (options_.ranks.group) options_.ranks.group->sum({&stopped, 1});
    sums.stopped = stopped > 0;
    return sums;
  }
  core::MemoryByUse memory() const override { return trainer_->memory(); }

 private:
  const model::Network& network_;
  const Options options_;
  const std::atomic<int>& stop_;
  std::unique_ptr<engine::cuda::ResidentTrainer> trainer_;
  Orders orders_;
  std::int64_t samples_, test_samples_, done_samples_ = 0;
  std::int64_t batch_;
  StepsPerCall steps_per_call_;
  std::uint32_t epoch_ = 0;
  std::span<const std::uint32_t> order_;
  core::Seconds waited_{0};
  std::vector<Update> updates_;
};

}  // namespace

std::unique_ptr<Epochs> make_cpu_epochs(const Run& run, const Options& options,
                                        const std::atomic<int>& stop) {
  return std::make_unique<CpuEpochs>(run, options, stop);
}

std::unique_ptr<Epochs> make_fed_gpu_epochs(const Run& run, const Options& options,
                                            const std::atomic<int>& stop) {
  return std::make_unique<FedGpuEpochs>(run, options, stop);
}

std::unique_ptr<Epochs> make_epochs(const Run& run, const Options& options,
                                    const std::atomic<int>& stop) {
  if (!options.device.gpu) return make_cpu_epochs(run, options, stop);
  auto epochs = is_resident(options, run.dataset) ? make_resident_epochs(run, options, stop)
                                                  : make_fed_gpu_epochs(run, options, stop);
  return trainer_options(options, run.network).gradient_norms
             ? with_gradient_norms(std::move(epochs), run, options)
             : std::move(epochs);
}

std::unique_ptr<Epochs> make_resident_epochs(const Run& run, const Options& options,
                                             const std::atomic<int>& stop) {
  return std::make_unique<ResidentEpochs>(run, options, stop);
}

}  // namespace sweetspot::workload::native
