#include "engine/cuda/steps.h"

#include <optional>
#include <utility>

namespace sweetspot::engine::cuda {

UpdatedBefore Steps::updated_before(const Executor& executor, const Micro& micro) const {
  const bool may = executor.program().training && micro.count == micro.batch && !micro.measured &&
                   !sums_ && executor.program().penalties.empty();
  return !may               ? UpdatedBefore::none
         : micro.one_by_one ? UpdatedBefore::in_place
                            : UpdatedBefore::on_branch;
}

Pass Steps::pass(const Executor& executor, const Source& source, const Micro& micro) const {
  Pass pass = executor.pass();
  pass.weights = parameters_.weights(), pass.operands = parameters_.operands();
  pass.state = parameters_.state();
  pass.source = source, pass.source.state = parameters_.state();
  pass.first = static_cast<int>(micro.place + micro.first), pass.begins = micro.is_first();
  pass.count = static_cast<int>(micro.count);
  pass.batch = static_cast<float>(micro.whole > 0 ? micro.whole : micro.batch);
  pass.seed = options_.trainer.seed, pass.math = math_of(options_.precision);
  pass.beta1 = options_.trainer.optimizer.beta1, pass.beta2 = options_.trainer.optimizer.beta2;
  // Ranks sum what the stream has made so far, so nothing runs beside it.
  if (executor.program().branches && !micro.one_by_one && !sums_) pass.branches = branches_.get();
  const UpdatedBefore before = updated_before(executor, micro);
  if (before != UpdatedBefore::none) {
    Update u{};
    parameters_.fill(u);
    pass.in_place = {u.weights, u.mean, u.square, u.rule, u.state, u.scaled};
  }
  if (before == UpdatedBefore::on_branch) {
    pass.fill_update = [this](Update& update) { parameters_.fill(update); };
  }
  return pass;
}

void Steps::fill(Update& u, const Micro& micro) const {
  parameters_.fill(u);
  u.samples = static_cast<int>(micro.count);
  u.advance = static_cast<std::uint32_t>(micro.advance);
}

template <class Launch>
void Steps::each_update(const Executor& executor, const Micro& micro, UpdatedBefore before,
                        Launch launch) const {
  for (int i = 0; i < executor.updates(before); ++i) {
    Update u = executor.update(i, before);
    fill(u, micro);
    launch(u);
  }
}

template <class Launch>
void Steps::each_update_of(const Executor& executor, int bucket, const Micro& micro,
                           Launch launch) const {
  for (int i = 0; i < executor.bucket_updates(bucket); ++i) {
    Update u = executor.bucket_update(bucket, i);
    u.ends_step &= bucket + 1 == executor.buckets();
    fill(u, micro);
    launch(u);
  }
}

void Steps::sum_partials(const Update& u, const Micro& micro) const {
  if (u.blocks > 0) check(launch_sum_partials(u, !micro.is_first(), stream_), "summing gradients");
  if (u.ends_step) check(launch_record(u, !micro.is_first(), stream_), "the loss");
}

void Steps::backward(const Executor& executor, Pass& pass, const Micro& micro, bool updates,
                     const Executor::AfterOp& after) const {
  if (!sums_ || !updates || !micro.is_last()) return executor.backward(pass, after);
  int made = 0;
  const int but_last = executor.buckets() - 1;  // which settle() sends, with the record
  // Penalties are added to the gradients at the end.
  const bool at_once = executor.program().penalties.empty() || pass.first > 0;
  executor.backward(pass, [&](std::size_t op) {
    while (at_once && made < but_last && executor.last_op(made) >= op) {
      pass.flush();
      send(executor, made++, micro);
    }
    if (after) after(op);
  });
  while (made < but_last) send(executor, made++, micro);
}

void Steps::send(const Executor& executor, int bucket, const Micro& micro) const {
  each_update_of(executor, bucket, micro, [&](const Update& u) { sum_partials(u, micro); });
  sums_->send(executor, bucket, true);
}

// Each bucket is applied as soon as its sum is there. In fp16 any of them may say that the update
// is skipped, so the last one is awaited first.
void Steps::update_with_others(const Executor& executor, const Micro& micro, Clock* clock) const {
  const int last = executor.buckets() - 1;
  const auto receive = [&](int bucket) {
    if (clock) clock->mark();
    sums_->receive(bucket);
    if (clock) clock->mark();
    if (bucket == last) sums_->take_record();
  };
  if (parameters_.scaled()) receive(last);
  for (int bucket = 0; bucket <= last; ++bucket) {
    if (!parameters_.scaled()) receive(bucket);
    each_update_of(executor, bucket, micro, [&](Update& u) {
      u.samples = 0, u.from_gradients = true;
      if (u.blocks + u.ends_step > 0) check(launch_update_after_wait(u, stream_), "the update");
    });
  }
  if (micro.measured)
    each_update(executor, micro, UpdatedBefore::none, [&](Update& u) {
      u.from_gradients = true;
      check(launch_squared_norm(u, true, stream_), "the gradient's norm");
    });
}

void Steps::settle(const Executor& executor, const Micro& micro, bool updates, Clock* clock) const {
  if (sums_ && updates && micro.is_last()) {
    send(executor, executor.buckets() - 1, micro);
    return update_with_others(executor, micro, clock);
  }
  const bool whole = micro.count == micro.batch;
  const UpdatedBefore before = updated_before(executor, micro);
  const auto each = [&](auto launch) { each_update(executor, micro, before, launch); };
  std::optional<WholePredecessors> late;
  if (std::exchange(branches_->joined, false)) late.emplace();
  const bool at_once = whole && updates;
  if (at_once)
    each([&](const Update& u) { check(launch_update(u, stream_), "the update"); });
  else
    each([&](const Update& u) { sum_partials(u, micro); });
  if (!micro.is_last()) return;
  if (!at_once && updates)
    each([&](Update& u) {
      u.samples = 0, u.from_gradients = true;
      check(launch_update(u, stream_), "the update");
    });
  if (micro.measured)
    each([&](Update& u) {
      u.from_gradients = !at_once;
      check(launch_squared_norm(u, updates, stream_), "the gradient's norm");
    });
}

void Steps::run(const Executor& executor, const Source& source, const Micro& micro) const {
  Pass on_its_way = pass(executor, source, micro);
  executor.forward(on_its_way);
  backward(executor, on_its_way, micro, true);
  settle(executor, micro, true);
}

void Steps::run_without_samples(const Executor& executor, std::int64_t advance,
                                Clock* clock) const {
  const std::span<float> gradients = parameters_.gradient_sums();
  check(cudaMemsetAsync(gradients.data(), 0, gradients.size_bytes(), stream_), "a step");
  for (int bucket = 0; bucket < executor.buckets(); ++bucket) sums_->send(executor, bucket, false);
  update_with_others(executor, {.advance = advance}, clock);
}

void Steps::resident(const Executor& executor, Source split, std::int64_t offset,
                     const Micro& batch) const {
  GradientSums::Part part{0, batch.count};
  if (sums_) part = sums_->part_of(batch.count);
  if (part.count == 0) return run_without_samples(executor, batch.advance);
  for_passes(
      part.count, executor.program().micro_batch, [&](std::int64_t first, std::int64_t count) {
        split.first = static_cast<std::uint32_t>(offset + part.first + first);
        run(executor, split,
            {first, count, part.count, batch.advance, batch.measured, part.first, batch.count});
      });
}

cudaGraphExec_t Steps::graph(Executor& executor, const GraphKey& key, Source source) const {
  Graph& graph = executor.graphs[key];
  if (graph) return graph.get();
  // The last step moves the cursor for all of them, so that the others' first kernels may locate
  // their samples while the previous update still runs.
  source.settled = true;
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "its graph");
  cudaGraph_t captured = nullptr;
  try {
    for (std::int64_t i = 0; i < key.steps; ++i) {
      Micro micro{0,         key.batch, key.batch, 0, key.norm_every > 0 && i % key.norm_every == 0,
                  key.place, key.whole};
      if (key.host_buffer == GraphKey::resident) {
        micro.advance = i + 1 == key.steps ? key.steps * key.batch : 0;
        resident(executor, source, i * key.batch, micro);
      } else {
        run(executor, source, micro);
      }
    }
  } catch (...) {
    cudaStreamEndCapture(stream_, &captured);
    cudaGraphDestroy(captured);
    throw;
  }
  check(cudaStreamEndCapture(stream_, &captured), "its graph");
  cudaGraphExec_t made = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&made, captured, 0);
  cudaGraphDestroy(captured);
  check(error, "its graph");
  graph.reset(made);
  return made;
}

}  // namespace sweetspot::engine::cuda
