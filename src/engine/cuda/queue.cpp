#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "engine/cuda/trainer.h"

// Steps that run asynchronously until finish(): epochs over resident samples, and host batches.
namespace sweetspot::engine::cuda {
namespace {

// Steps per graph launch: enough to hide the host's launches behind the device's work.
constexpr std::int64_t steps_per_graph = 20;

// A norm reads the partial gradients again: a few µs, where a step of a small batch takes 40, and
// one of thousands of samples hundreds.
std::int64_t steps_for_a_norm(std::int64_t batch) {
  return std::clamp<std::int64_t>(4096 / batch, 1, 10);
}

void refuse_empty(std::int64_t batch) {
  if (batch < 1) throw core::InputError(fmt::format("batch {} is no batch; use 1 or more", batch));
}

}  // namespace

bool CudaTrainer::measures_next(std::int64_t batch) const {
  return options_.trainer.gradient_norms && steps_done_ % steps_for_a_norm(batch) == 0;
}

void CudaTrainer::set_order(const ResidentSplit& train, std::span<const std::uint32_t> order) {
  if (order.size() > static_cast<std::size_t>(train.count))
    throw core::InputError(
        fmt::format("the order has {} samples, and {} were uploaded", order.size(), train.count));
  // The order of two starts ago is still being copied only if its predecessor's steps still run.
  turn_ ^= 1;
  Pinned<std::uint32_t>& host = orders_[turn_];
  copied_[turn_].wait("copying the order");
  host.resize(order.size());
  std::memcpy(host.data(), order.data(), order.size_bytes());
  check(cudaMemcpyAsync(train.order.data(), host.data(), order.size_bytes(), cudaMemcpyHostToDevice,
                        stream_),
        "copying the order");
  copied_[turn_].record(stream_);
  check(cudaMemsetAsync(&parameters_.state()->cursor, 0, sizeof(std::uint32_t), stream_), "a step");
}

void CudaTrainer::start(std::span<const std::uint32_t> order, std::int64_t batch,
                        std::int64_t micro_batch) {
  const ResidentSplit& train = resident(Split::train);
  refuse_empty(batch);
  Executor& executor = executor_of(micro_batch);
  const auto samples = static_cast<std::int64_t>(order.size());
  const std::int64_t whole = samples / batch, left = samples % batch;
  make_room(static_cast<std::size_t>(whole + (left > 0)));

  set_order(train, order);

  if (sums_) sums_->note_stop();
  const auto launch = [&](const GraphKey& key) {
    check(cudaGraphLaunch(steps_.graph(executor, key, train.source), stream_), "its steps");
    steps_done_ += static_cast<std::uint32_t>(key.steps);
  };
  const std::int64_t norm_every = options_.trainer.gradient_norms ? steps_for_a_norm(batch) : 0;
  std::int64_t done = 0;
  for (; done + steps_per_graph <= whole; done += steps_per_graph)
    launch({.batch = batch, .steps = steps_per_graph, .norm_every = norm_every});
  for (; done < whole; ++done) launch({.batch = batch, .norm_every = measures_next(batch)});
  if (left > 0) steps_.resident(executor, train.source, 0, {0, left, left, left}), ++steps_done_;
  queued_.insert(queued_.end(), static_cast<std::size_t>(whole), batch);
  if (left > 0) queued_.push_back(left);
}

void CudaTrainer::queue(const BatchView& batch, std::int64_t micro_batch) {
  refuse_empty(sums_ ? batch.batch() : batch.count);
  Executor& executor = executor_of(micro_batch);
  make_room(1);
  if (sums_) sums_->note_stop();
  if (batch.count == 0) steps_.run_without_samples(executor, 0);
  const bool measured = measures_next(batch.count);
  const std::int64_t whole = batch.whole.value_or(0);
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const auto [source, buffer] =
        staging_.stage(executor, part_of(batch, executor.program().host_batch, first, count));
    if (count == batch.count)
      check(cudaGraphLaunch(steps_.graph(executor,
                                         {.batch = count,
                                          .host_buffer = buffer,
                                          .norm_every = measured,
                                          .place = batch.first,
                                          .whole = whole},
                                         source),
                            stream_),
            "its steps");
    else
      steps_.run(executor, source, {first, count, batch.count, 0, measured, batch.first, whole});
    staging_.used();
  });
  queued_.push_back(batch.batch());
  ++steps_done_;
}

}  // namespace sweetspot::engine::cuda
