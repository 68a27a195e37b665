#include <fmt/format.h>

#include <cstring>

#include "core/error.h"
#include "engine/cuda/trainer.h"

// Steps that nobody waits for until finish(): epochs over resident samples, and batches of the
// host.
namespace sweetspot::engine::cuda {
namespace {

// Steps of one graph launch: long enough that the host's launches hide behind the device's work.
constexpr std::int64_t steps_per_graph = 20;

void refuse_empty(std::int64_t batch) {
  if (batch < 1) throw core::InputError(fmt::format("batch {} is no batch; use 1 or more", batch));
}

}  // namespace

void CudaTrainer::start(std::span<const std::uint32_t> order, std::int64_t batch,
                        std::int64_t micro_batch) {
  const ResidentSplit& train = resident(Split::train);
  if (order.size() > static_cast<std::size_t>(train.count))
    throw core::InputError(
        fmt::format("the order has {} samples, and {} were uploaded", order.size(), train.count));
  refuse_empty(batch);
  Executor& executor = executor_of(micro_batch);
  const auto samples = static_cast<std::int64_t>(order.size());
  const std::int64_t whole = samples / batch, left = samples % batch;
  make_room(static_cast<std::size_t>(whole + (left > 0)));

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

  std::int64_t done = 0;
  for (const std::int64_t steps : {steps_per_graph, std::int64_t{1}})
    for (; done + steps <= whole; done += steps)
      check(cudaGraphLaunch(steps_.graph(executor, {.batch = batch, .steps = steps}, train.source),
                            stream_),
            "its steps");
  if (left > 0) steps_.resident(executor, train.source, left, 0, left);
  queued_.insert(queued_.end(), static_cast<std::size_t>(whole), batch);
  if (left > 0) queued_.push_back(left);
  steps_done_ += static_cast<std::uint32_t>(whole + (left > 0));
}

void CudaTrainer::queue(const BatchView& batch, std::int64_t micro_batch) {
  refuse_empty(batch.count);
  Executor& executor = executor_of(micro_batch);
  make_room(1);
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const auto [source, room] =
        staging_.stage(executor, part_of(batch, executor.program().host_batch, first, count));
    if (count == batch.count)
      check(
          cudaGraphLaunch(
              steps_.graph(executor, {.batch = count, .steps = 1, .room = room}, source), stream_),
          "its steps");
    else
      steps_.run(executor, source, {first, count, batch.count, 0});
    staging_.used();
  });
  queued_.push_back(batch.count);
  ++steps_done_;
}

}  // namespace sweetspot::engine::cuda
