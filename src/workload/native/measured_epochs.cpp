#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/gradient_norms.h"
#include "workload/native/epochs.h"
#include "workload/native/feed.h"
#include "workload/native/memory.h"
#include "workload/native/resident.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// For the passes; the norms of the steps, and more and shorter launches, take about half a percent.
constexpr double share_of_time = 0.0125;
constexpr std::int64_t first_steps = 20;  // before their speed is known
// Relative to a window's length: the first ones are shorter, so that there is an interval soon;
// four more passes in total.
constexpr double first_share = 1. / 16;
// Small norms of a pass at most, and the share of the time below which there are several.
constexpr std::int64_t most_norms = 8;
constexpr double share_of_several = 0.01;

constexpr std::int64_t most_host_bytes = 64 << 20;

std::int64_t host_bytes(const model::Network& network, std::int64_t samples) {
  return samples * network.input.size() * static_cast<std::int64_t>(sizeof(float));
}

// Samples of the pass between two launches, and of its micro-batches. A gradient over few samples
// is mostly noise, tr(Σ)/B against |G|²: for a batch that is small relative to the noise scale, no
// number of steps reveals |G|². So such a batch is the small one of the two, known well from its
// many steps, and the pass is over several times as many samples: the error of |G|² falls with the
// samples of one pass, but only with the square root of the number of passes. A large batch is the
// big one, and a pass over a small part of it is cheap; it has as many such parts, each with a norm
// of its own, as the window has time for.
struct Pass {
  std::int64_t samples, micro_batch;
};
Pass pass_of(const Run& run, const Options& options, std::int64_t batch) {
  constexpr std::int64_t small_batch = 512, least_batches = 4, enough_samples = 256;
  if (const auto own = pass_plan(run.network, options, run.dataset, batch)) return {*own, *own};
  const std::int64_t micro_batch = options.micro_batch(batch);
  const std::int64_t wanted = std::max(least_batches, (enough_samples + batch - 1) / batch) * batch;
  if (batch >= small_batch || host_bytes(run.network, wanted) > most_host_bytes ||
      wanted > static_cast<std::int64_t>(run.dataset.train.count))
    return {engine::small_part(batch, micro_batch), micro_batch};
  return {wanted, micro_batch};
}

std::int64_t largest_pass(const Run& run, const Options& options) {
  std::int64_t largest = 1;
  for (const std::int64_t batch : options.batches())
    largest = std::max(largest, pass_of(run, options, batch).samples);
  return largest;
}

data::PipelineOptions pass_pipeline(const Run& run, const Options& options) {
  data::PipelineOptions pipeline = options.pipeline;
  pipeline.batch = largest_pass(run, options);
  pipeline.workers = 1, pipeline.prefetch = 1, pipeline.cache = false;  // while steps run
  pipeline.drop_last = true;
  pipeline.delay = {};  // irrelevant here
  pipeline.seed += 1;   // not the samples just trained on
  pipeline.share = {};  // every rank takes the same pass
  return pipeline;
}

// Like engine::NormWindow, for steps that run many at a time: half of a window's steps, a pass over
// other samples between two launches, the other half. The norm of the pass and the mean of the
// steps' are reported with the window's last update.
class MeasuredEpochs final : public Epochs {
 public:
  MeasuredEpochs(std::unique_ptr<Epochs> epochs, const Run& run, const Options& options)
      : epochs_(std::move(epochs)),
        run_(run),
        options_(options),
        orders_(run.dataset.train.count, pass_pipeline(run, options)) {
    for (const std::int64_t batch : options.batches())
      trainer().prepare(pass_of(run, options, batch).micro_batch);
    set_window(options.batch());
    norm_of_pass();  // the first one loads kernels, and is not representative
    pass_seconds_ = norm_of_pass().seconds;
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
    if (!pass_squared_) {
      measure_pass(norms_of(half_left_));
      return updates;
    }
    updates_.assign(updates.begin(), updates.end());
    if (step_count_ > 0) updates_.back().result.gradient_norms = norms();
    share_of_window_ = std::min(2 * share_of_window_, 1.);
    clear_window();
    return updates_;
  }

 private:
  struct PassNorm {
    double squared, seconds;
  };

  convergence::GradientNorms norms() const {
    const auto pass = static_cast<double>(pass_.samples), batch = static_cast<double>(batch_);
    const double of_steps = step_sum_ / step_count_;
    if (pass > batch) return {batch, of_steps, pass, *pass_squared_};
    return {pass, *pass_squared_, batch, of_steps};
  }

  void clear_window() { step_sum_ = 0, step_count_ = 0, pass_squared_.reset(); }
  // A new window, for this batch.
  void set_window(std::int64_t batch) {
    if (batch == batch_) return;
    batch_ = batch, pass_ = pass_of(run_, options_, batch);
    trained_ = {}, steps_ = 0;
    half_left_ = first_steps, share_of_window_ = first_share;
    clear_window();
  }

  void add(const Update& update) {
    const std::optional<double>& squared = update.result.gradient_squared;
    // Not for an epoch's last batch, nor for a step that fp16 skips.
    if (!squared || update.samples != batch_ || !std::isfinite(*squared)) return;
    step_sum_ += *squared, ++step_count_;
  }

  double step_seconds() const {
    return std::max(trained_.count() / static_cast<double>(steps_), 1e-9);
  }

  // Several if whole graphs, or a slow step, make the window longer than one takes.
  std::int64_t norms_of(std::int64_t half_window) const {
    if (pass_.samples > batch_) return 1;
    const double affordable = share_of_several * 2 * static_cast<double>(half_window) *
                              step_seconds() / std::max(pass_seconds_, 1e-9);
    constexpr auto most = static_cast<double>(most_norms);
    return of_first_rank(options_.ranks,
                         static_cast<std::int64_t>(std::clamp(affordable, 1., most)));
  }

  void measure_pass(std::int64_t norms) {
    double squared = 0, seconds = 0;
    for (std::int64_t i = 0; i < norms; ++i) {
      const PassNorm measured = norm_of_pass();
      squared += measured.squared, seconds += measured.seconds;
    }
    pass_squared_ = squared / static_cast<double>(norms);
    pass_seconds_ = seconds / static_cast<double>(norms);
  }

  // The number of steps for which the pass in the middle takes its share of the time.
  std::int64_t half_window() const {
    const double half = share_of_window_ * pass_seconds_ / share_of_time / step_seconds() / 2;
    constexpr double most = 1 << 20;
    return whole_graphs(of_first_rank(
        options_.ranks, static_cast<std::int64_t>(std::clamp(std::ceil(half), 1., most))));
  }

  PassNorm norm_of_pass() {
    const Clock::time_point begin = Clock::now();
    std::optional<double> squared;
    if (!feed_) squared = epochs_->squared_norm_of(next_samples(), pass_.micro_batch);
    if (!squared) squared = norm_of_fed_pass();
    return {*squared, core::Seconds(Clock::now() - begin).count()};
  }

  // Of an order of their own, from its begin again at its end.
  std::span<const std::uint32_t> next_samples() {
    const auto count = static_cast<std::size_t>(pass_.samples);
    if (taken_ + count > run_.dataset.train.count) taken_ = 0, ++order_;
    const auto samples = orders_.at(order_).subspan(taken_, count);
    taken_ += count;
    return samples;
  }

  // From the host.
  double norm_of_fed_pass() {
    if (!feed_) feed_.emplace(run_.dataset.train, pass_pipeline(run_, options_));
    engine::BatchView part = view(feed_->next());
    part.count = std::min(part.count, pass_.samples);
    return engine::squared_gradient_norm(trainer(), run_.network, part, pass_.micro_batch);
  }

  std::unique_ptr<Epochs> epochs_;
  const Run& run_;
  const Options options_;
  std::int64_t batch_ = 0;
  Pass pass_{};
  Orders orders_;  // of resident samples
  std::uint32_t order_ = 0;
  std::size_t taken_ = 0;
  std::optional<Feed> feed_;  // of others
  core::Seconds trained_{0};
  std::int64_t steps_ = 0;
  double pass_seconds_ = 0, share_of_window_ = first_share;
  std::int64_t half_left_ = first_steps;
  std::optional<double> pass_squared_;
  double step_sum_ = 0, step_count_ = 0;
  std::vector<Update> updates_;
};

}  // namespace

std::optional<std::int64_t> pass_plan(const model::Network& network, const Options& options,
                                      const data::Dataset& dataset, std::int64_t batch) {
  // The norms of a larger batch, in every few steps, tell more than passes in a hundredth of the
  // time. Larger passes would tell more after many epochs, but the first interval comes later.
  constexpr std::int64_t largest_batch = 256;
  constexpr std::int64_t most_samples = 2048, least_samples = 256, least_batches = 4;
  constexpr core::Bytes most_memory = 1024 * core::MiB;
  if (batch > largest_batch) return std::nullopt;
  Options one = options;
  one.noise_scale = false, one.accumulation = 1, one.schedule.clear(), one.dynamic.reset();
  one.ranks = {}, one.pipeline.share = {};  // every rank takes the whole pass
  for (std::int64_t samples = most_samples;
       samples >= std::max(least_samples, least_batches * batch); samples /= 2) {
    one.pipeline.batch = samples;
    if (samples <= static_cast<std::int64_t>(dataset.train.count) / least_batches &&
        host_bytes(network, samples) <= most_host_bytes &&
        predict(network, one, dataset).total() <= most_memory)
      return samples;
  }
  return std::nullopt;
}

std::unique_ptr<Epochs> with_gradient_norms(std::unique_ptr<Epochs> epochs, const Run& run,
                                            const Options& options) {
  return std::make_unique<MeasuredEpochs>(std::move(epochs), run, options);
}

}  // namespace sweetspot::workload::native
