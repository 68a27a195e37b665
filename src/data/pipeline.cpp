#include "data/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <stdexcept>

#include "core/error.h"
#include "data/loader.h"
#include "data/ring.h"

namespace sweetspot::data {
namespace {

using core::InputError;
using Clock = std::chrono::steady_clock;

constexpr int max_workers = 64, max_prefetch = 1024;

void check_options(const Samples& samples, const PipelineOptions& options) {
  if (samples.count == 0) throw InputError("the data set is empty; use one with samples");
  if (options.batch <= 0)
    throw InputError(
        fmt::format("a batch of {} cannot be trained on; use 1 or more", options.batch));
  if (static_cast<std::uint64_t>(options.batch) > samples.count)
    throw InputError(
        fmt::format("a batch of {} is larger than the data set's {} samples; use {} or less",
                    options.batch, samples.count, samples.count));
  if (options.workers < 0 || options.workers > max_workers)
    throw InputError(
        fmt::format("{} loader workers cannot be used; use 0 to {}", options.workers, max_workers));
  if (options.prefetch < 1 || options.prefetch > max_prefetch)
    throw InputError(fmt::format("{} batches cannot be loaded ahead; use 1 to {}", options.prefetch,
                                 max_prefetch));
  if (!(options.delay.duration.count() >= 0))
    throw InputError("a load delay cannot be negative; use 0 or more");
}

// The loader does no bounds checks: what a Samples claims must be there.
void check_samples(const Samples& samples) {
  const std::size_t values = samples.count * static_cast<std::size_t>(samples.sample_size());
  const bool inputs = samples.bytes.empty()
                          ? samples.floats.size() == values
                          : samples.bytes.size() == values && samples.floats.empty();
  const bool answers =
      samples.target_size > 0
          ? samples.targets.size() == samples.count * static_cast<std::size_t>(samples.target_size)
          : samples.labels.size() == samples.count;
  if (!inputs || !answers)
    throw InputError(
        "the data set's number of values does not match its counts and shape; load it again");
  if (samples.count > std::numeric_limits<std::uint32_t>::max())
    throw InputError(fmt::format(
        "{} samples are more than the pipeline can number (2^32); use fewer", samples.count));
}

const PipelineOptions& checked(const Samples& samples, const PipelineOptions& options) {
  check_options(samples, options);
  check_samples(samples);
  return options;
}

}  // namespace

struct Pipeline::State {
  State(const Samples& from, const PipelineOptions& options, const std::atomic<int>* stop)
      : samples(from),
        most_batch(options.batch),
        layout(lay_out(from, options)),
        loader(from, options),
        memory(layout.ring_bytes(), core::Use::input),
        batch_now(options.batch),
        ring(
            options.workers, layout.slots,
            [this](std::int64_t batch, std::size_t slot) {
              const core::Seconds delay = loader.delay(batch);
              if (delay.count() == 0 || ring.sleep_unless_cancelled(delay))
                loader.load(batch, at(slot));
            },
            stop) {}

  BatchMemory at(std::size_t slot) const {
    const core::Bytes inputs = slot * layout.slot_bytes(), answers = inputs + layout.inputs_bytes;
    return {memory.as<float>(inputs), memory.as<std::int32_t>(answers), memory.as<float>(answers)};
  }

  Batch view(std::int64_t index, std::size_t slot) const {
    const BatchMemory where = at(slot);
    const Loader::Part part = loader.part(index);
    const auto count = static_cast<std::size_t>(part.count);
    Batch batch;
    batch.count = part.count, batch.first = part.first, batch.whole = part.whole;
    batch.inputs = {where.inputs, count * static_cast<std::size_t>(samples.sample_size())};
    if (samples.target_size > 0)
      batch.targets = {where.targets, count * static_cast<std::size_t>(samples.target_size)};
    else
      batch.labels = {where.labels, count};
    return batch;
  }

  const Samples& samples;
  const std::int64_t most_batch;
  const Layout layout;
  Loader loader;
  core::Buffer memory;
  std::int64_t batch_now, next_batch = 0;
  std::int64_t delivered = 0;  // samples of this epoch
  bool started = false;
  core::Seconds waited{0};
  Ring ring;  // last: its threads use all of the above
};

Pipeline::Pipeline(const Samples& samples, const PipelineOptions& options,
                   const std::atomic<int>* stop)
    : state_(std::make_unique<State>(samples, checked(samples, options), stop)) {}
Pipeline::~Pipeline() = default;

std::int64_t Pipeline::batches_per_epoch() const { return state_->loader.batches(); }
core::Seconds Pipeline::waited() const { return state_->waited; }

void Pipeline::start_epoch(std::uint32_t epoch) {
  state_->ring.cancel();
  state_->loader.start_epoch(epoch);
  state_->loader.set_batch(state_->batch_now, 0);
  state_->next_batch = state_->delivered = 0;
  state_->waited = core::Seconds(0);
  state_->ring.start(state_->loader.batches());
  state_->started = true;
}

void Pipeline::set_batch(std::int64_t batch) {
  if (batch < 1 || batch > state_->most_batch)
    throw std::logic_error("a batch that the pipeline has no memory for");
  if (batch == state_->batch_now) return;
  state_->batch_now = batch;
  if (!state_->started) return;
  const auto begin = Clock::now();
  state_->ring.cancel();
  state_->loader.set_batch(batch, state_->delivered);
  state_->next_batch = 0;
  state_->ring.start(state_->loader.batches());
  state_->waited += Clock::now() - begin;
}

bool Pipeline::next(Batch& batch) {
  const auto begin = Clock::now();
  const auto slot = state_->ring.next();
  if (slot) {
    batch = state_->view(state_->next_batch++, *slot);
    state_->delivered += batch.whole;
  }
  state_->waited += Clock::now() - begin;
  return slot.has_value();
}

}  // namespace sweetspot::data
