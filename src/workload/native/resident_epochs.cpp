#include <algorithm>
#include <chrono>

#include "workload/native/epochs.h"
#include "workload/native/resident.h"
#include "workload/pace.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// The data set is on the GPU: an epoch is a few starts of many steps each, while the host makes the
// next order.
class ResidentEpochs final : public Epochs {
 public:
  ResidentEpochs(const Run& run, const Options& options, const std::atomic<int>& stop)
      : options_(options),
        stop_(stop),
        trainer_(make_gpu_trainer(run, options)),
        orders_(run.dataset.train.count, options.pipeline),
        samples_(static_cast<std::int64_t>(run.dataset.train.count)),
        test_samples_(static_cast<std::int64_t>(run.dataset.test.count)),
        batch_(options.batch()),
        pace_(least_epoch_part_seconds) {
    for (const std::int64_t micro_batch : options.micro_batches()) trainer_->prepare(micro_batch);
    if (options.evaluate) trainer_->evaluate({});  // an empty batch: makes its plan
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
    if (stop_ != 0) return {};
    const std::int64_t batch = batch_;
    std::int64_t left = samples_ - done_samples_;
    if (options_.pipeline.drop_last) left -= left % batch;
    const std::int64_t steps =
        std::min({most, whole_graphs(pace_.steps()), (left + batch - 1) / batch});
    if (steps < 1) return {};
    const std::int64_t taken = std::min(left, steps * batch);
    const auto begin = Clock::now();
    trainer_->start(
        order_.subspan(static_cast<std::size_t>(done_samples_), static_cast<std::size_t>(taken)),
        batch, batch / options_.accumulation);
    if (taken == left) orders_.at(epoch_ + 1);  // while the device works
    for (const engine::StepResult& result : trainer_->finish())
      updates_.push_back(
          {result, std::min(batch, taken - batch * static_cast<std::int64_t>(updates_.size()))});
    done_samples_ += taken;
    if (steps >= pace_.steps()) pace_.took(core::Seconds(Clock::now() - begin).count());
    return updates_;
  }
  core::Seconds waited() const override { return waited_; }

  Sums evaluate() override {
    Sums sums;
    sums.add(trainer_->evaluate_resident(), test_samples_);
    sums.stopped = stop_ != 0;
    return sums;
  }
  core::MemoryByUse memory() const override { return trainer_->memory(); }

 private:
  const Options options_;
  const std::atomic<int>& stop_;
  std::unique_ptr<engine::cuda::ResidentTrainer> trainer_;
  Orders orders_;
  std::int64_t samples_, test_samples_, done_samples_ = 0;
  std::int64_t batch_;
  Pace pace_;
  std::uint32_t epoch_ = 0;
  std::span<const std::uint32_t> order_;
  core::Seconds waited_{0};
  std::vector<Update> updates_;
};

}  // namespace

std::unique_ptr<Epochs> make_resident_epochs(const Run& run, const Options& options,
                                             const std::atomic<int>& stop) {
  return std::make_unique<ResidentEpochs>(run, options, stop);
}

}  // namespace sweetspot::workload::native
