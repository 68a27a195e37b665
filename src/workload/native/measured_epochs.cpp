#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/gradient_norms.h"
#include "workload/native/epochs.h"
#include "workload/native/feed.h"
#include "workload/native/resident.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// For the small norms. As much again goes into the big ones, and into more and shorter launches.
constexpr double share_of_time = 0.01;
constexpr std::int64_t first_steps = 20;  // before their speed is known

std::int64_t largest_small_part(const Options& options) {
  std::int64_t largest = 1;
  for (const std::int64_t batch : options.batches())
    largest = std::max(largest, engine::small_part(batch, batch / options.accumulation));
  return largest;
}

data::PipelineOptions small_batches(const Options& options) {
  data::PipelineOptions pipeline = options.pipeline;
  pipeline.batch = largest_small_part(options);
  pipeline.workers = 0, pipeline.prefetch = 1, pipeline.cache = false;
  pipeline.drop_last = true;
  pipeline.delay = {};  // of no concern here
  pipeline.seed += 1;   // not the samples that were just trained on
  return pipeline;
}

// As engine::NormWindow, for steps that run many at a time: half of a window's steps, a small norm
// between two launches, the other half. Both norms are told with the window's last update.
class MeasuredEpochs final : public Epochs {
 public:
  MeasuredEpochs(std::unique_ptr<Epochs> epochs, const Run& run, const Options& options)
      : epochs_(std::move(epochs)),
        network_(run.network),
        accumulation_(options.accumulation),
        feed_(run.dataset.train, small_batches(options)) {
    set_window(options.batch());
    small_norm();  // the first one loads kernels, and is no measure of the others
    small_seconds_ = small_norm().seconds;
  }

  engine::Trainer& trainer() override { return epochs_->trainer(); }
  void start(std::uint32_t epoch) override { epochs_->start(epoch); }
  void set_batch(std::int64_t batch) override {
    epochs_->set_batch(batch);
    set_window(batch);
  }
  core::Seconds waited() const override { return epochs_->waited(); }
  Sums evaluate() override { return epochs_->evaluate(); }
  core::MemoryByUse memory() const override { return epochs_->memory(); }

  std::span<const Update> next(std::int64_t most) override {
    if (batch_ < 2) return epochs_->next(most);  // nothing is smaller
    const Clock::time_point begin = Clock::now();
    const std::span<const Update> updates = epochs_->next(std::min(most, half_left_));
    if (updates.empty()) return updates;
    trained_ += Clock::now() - begin;
    steps_ += static_cast<std::int64_t>(updates.size());
    half_left_ -= static_cast<std::int64_t>(updates.size());
    for (const Update& update : updates) add(update);
    if (half_left_ > 0) return updates;
    half_left_ = half_window();
    if (!small_squared_) {
      const SmallNorm measured = small_norm();
      small_squared_ = measured.squared, small_seconds_ = measured.seconds;
      return updates;
    }
    updates_.assign(updates.begin(), updates.end());
    if (big_count_ > 0)
      updates_.back().result.gradient_norms = {static_cast<double>(small_), *small_squared_,
                                               static_cast<double>(batch_), big_sum_ / big_count_};
    clear_window();
    return updates_;
  }

 private:
  struct SmallNorm {
    double squared, seconds;
  };

  void clear_window() { big_sum_ = 0, big_count_ = 0, small_squared_.reset(); }
  // A new one, for this batch.
  void set_window(std::int64_t batch) {
    if (batch == batch_) return;
    batch_ = batch, micro_batch_ = batch / accumulation_;
    small_ = engine::small_part(batch_, micro_batch_);
    trained_ = {}, steps_ = 0;
    half_left_ = first_steps;
    clear_window();
  }

  void add(const Update& update) {
    const std::optional<double>& squared = update.result.gradient_squared;
    // Not of an epoch's last batch, nor of a step that fp16 leaves out.
    if (!squared || update.samples != batch_ || !std::isfinite(*squared)) return;
    big_sum_ += *squared, ++big_count_;
  }

  // Steps, so that the small norm in the middle takes its share of the time.
  std::int64_t half_window() const {
    const double step_seconds = trained_.count() / static_cast<double>(steps_);
    const double half = small_seconds_ / share_of_time / std::max(step_seconds, 1e-9) / 2;
    constexpr double most = 1 << 20;
    return whole_graphs(static_cast<std::int64_t>(std::clamp(std::ceil(half), 1., most)));
  }

  SmallNorm small_norm() {
    const Clock::time_point begin = Clock::now();
    engine::BatchView part = view(feed_.next());
    part.count = std::min(part.count, small_);
    const double squared = engine::squared_gradient_norm(trainer(), network_, part, micro_batch_);
    return {squared, core::Seconds(Clock::now() - begin).count()};
  }

  std::unique_ptr<Epochs> epochs_;
  const model::Network& network_;
  std::int64_t accumulation_;
  std::int64_t batch_ = 0, micro_batch_ = 0, small_ = 0;
  Feed feed_;
  core::Seconds trained_{0};
  std::int64_t steps_ = 0;
  double small_seconds_ = 0;
  std::int64_t half_left_ = first_steps;
  std::optional<double> small_squared_;
  double big_sum_ = 0, big_count_ = 0;
  std::vector<Update> updates_;
};

}  // namespace

std::unique_ptr<Epochs> with_gradient_norms(std::unique_ptr<Epochs> epochs, const Run& run,
                                            const Options& options) {
  return std::make_unique<MeasuredEpochs>(std::move(epochs), run, options);
}

}  // namespace sweetspot::workload::native
