#include "workload/native/epochs.h"
#include "workload/native/feed.h"
#include "workload/native/resident.h"

namespace sweetspot::workload::native {
namespace {

// Batches from the pipeline, one step for each.
class FedEpochs : public Epochs {
 public:
  FedEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : options_(options), batches_(run.dataset.train, options.pipeline, &stop) {
    if (options.evaluate)
      test_batches_.emplace(run.dataset.test, evaluation_pipeline(run.dataset.test), &stop);
  }

  void start(std::uint32_t epoch) override { batches_.start_epoch(epoch); }
  std::span<const Update> next(std::int64_t most) override {
    data::Batch batch;
    if (most < 1 || !batches_.next(batch)) return {};
    done_ = {trainer().step(view(batch), options_.micro_batch()), batch.count};
    return {&done_, 1};
  }
  core::Seconds waited() const override { return batches_.waited(); }

  Sums evaluate() override {
    Sums sums;
    data::Batch batch;
    test_batches_->start_epoch(0);
    while (test_batches_->next(batch)) sums.add(trainer().evaluate(view(batch)), batch.count);
    return sums;
  }

 protected:
  // All the memory now, not after an epoch: a run that cannot have it ends at once.
  void take_memory() {
    if (options_.evaluate) trainer().evaluate({});  // of nothing: makes its plan
  }

 private:
  const Options options_;
  data::Pipeline batches_;
  std::optional<data::Pipeline> test_batches_;
  Update done_;
};

class CpuEpochs final : public FedEpochs {
 public:
  CpuEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : FedEpochs(run, options, stop), trainer_(make_trainer(run, options)) {
    take_memory();
  }
  engine::Trainer& trainer() override { return *trainer_; }
  core::MemoryByUse memory() const override { return core::live_buffers(); }

 private:
  std::unique_ptr<engine::Trainer> trainer_;
};

class FedGpuEpochs final : public FedEpochs {
 public:
  FedGpuEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : FedEpochs(run, options, stop), trainer_(make_gpu_trainer(run, options)) {
    take_memory();
  }
  engine::Trainer& trainer() override { return *trainer_; }
  core::MemoryByUse memory() const override { return trainer_->memory(); }

 private:
  std::unique_ptr<engine::cuda::ResidentTrainer> trainer_;
};

}  // namespace

std::unique_ptr<Epochs> make_fed_epochs(const Run& run, const Options& options,
                                        const std::atomic<int>& stop) {
  if (options.device.gpu) return std::make_unique<FedGpuEpochs>(run, options, stop);
  return std::make_unique<CpuEpochs>(run, options, stop);
}

std::unique_ptr<Epochs> make_epochs(const Run& run, const Options& options,
                                    const std::atomic<int>& stop) {
  return is_resident(options, run.dataset) ? make_resident_epochs(run, options, stop)
                                           : make_fed_epochs(run, options, stop);
}

}  // namespace sweetspot::workload::native
