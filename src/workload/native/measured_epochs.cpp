#include <chrono>
#include <utility>
#include <vector>

#include "engine/gradient_norms.h"
#include "workload/native/epochs.h"
#include "workload/native/feed.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double share_of_time = 0.015;

data::PipelineOptions feed_options(const Options& options) {
  data::PipelineOptions pipeline = options.pipeline;
  pipeline.workers = 0, pipeline.prefetch = 1, pipeline.cache = false;
  pipeline.drop_last = true;
  pipeline.seed += 1;  // not the samples that were just trained on
  return pipeline;
}

class MeasuredEpochs final : public Epochs {
 public:
  MeasuredEpochs(std::unique_ptr<Epochs> epochs, const Run& run, const Options& options)
      : epochs_(std::move(epochs)),
        network_(run.network),
        micro_batch_(options.micro_batch()),
        feed_(run.dataset.train, feed_options(options)) {}

  engine::Trainer& trainer() override { return epochs_->trainer(); }
  void start(std::uint32_t epoch) override { epochs_->start(epoch); }
  void set_batch(std::int64_t batch) override { epochs_->set_batch(batch); }
  core::Seconds waited() const override { return epochs_->waited(); }
  Sums evaluate() override { return epochs_->evaluate(); }
  core::MemoryByUse memory() const override { return epochs_->memory(); }

  std::span<const Update> next(std::int64_t most) override {
    const Clock::time_point begin = Clock::now();
    const std::span<const Update> updates = epochs_->next(most);
    trained_ += Clock::now() - begin;
    if (updates.empty() || measured_ > share_of_time * trained_) return updates;
    updates_.assign(updates.begin(), updates.end());
    const Clock::time_point measuring = Clock::now();
    const data::Batch batch = feed_.next();
    if (batch.count > 1)
      updates_.back().result.gradient_norms =
          engine::gradient_norms(trainer(), network_, view(batch), micro_batch_);
    measured_ += Clock::now() - measuring;
    return updates_;
  }

 private:
  std::unique_ptr<Epochs> epochs_;
  const model::Network& network_;
  std::int64_t micro_batch_;
  Feed feed_;
  core::Seconds trained_{0}, measured_{0};
  std::vector<Update> updates_;
};

}  // namespace

std::unique_ptr<Epochs> with_gradient_norms(std::unique_ptr<Epochs> epochs, const Run& run,
                                            const Options& options) {
  return std::make_unique<MeasuredEpochs>(std::move(epochs), run, options);
}

}  // namespace sweetspot::workload::native
