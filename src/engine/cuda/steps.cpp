#include "engine/cuda/steps.h"

#include <optional>
#include <utility>

namespace sweetspot::engine::cuda {

UpdatedBefore Steps::updated_before(const Executor& executor, const Micro& micro) const {
  const bool may = executor.program().training && micro.count == micro.batch && !micro.measured &&
                   !options_.trainer.ranks.group && !parameters_.scaled() &&
                   executor.program().penalties.empty();
  return !may               ? UpdatedBefore::none
         : micro.one_by_one ? UpdatedBefore::in_place
                            : UpdatedBefore::on_branch;
}

Pass Steps::pass(const Executor& executor, const Source& source, const Micro& micro) const {
  Pass pass = executor.pass();
  pass.weights = parameters_.weights(), pass.operands = parameters_.operands();
  pass.state = parameters_.state();
  pass.source = source, pass.source.state = parameters_.state();
  pass.first = static_cast<int>(micro.place + micro.first),
  pass.count = static_cast<int>(micro.count);
  pass.batch = static_cast<float>(micro.whole > 0 ? micro.whole : micro.batch);
  pass.seed = options_.trainer.seed, pass.math = math_of(options_.precision);
  pass.beta1 = options_.trainer.optimizer.beta1, pass.beta2 = options_.trainer.optimizer.beta2;
  if (executor.program().branches && !micro.one_by_one) pass.branches = branches_.get();
  if (updated_before(executor, micro) != UpdatedBefore::none) {
    Update u{};
    parameters_.fill(u);
    pass.in_place = {u.weights, u.mean, u.square, u.rule, u.state};
    pass.fill_update = [this](Update& update) { parameters_.fill(update); };
  }
  return pass;
}

template <class Launch>
void Steps::each_update(const Executor& executor, const Micro& micro, UpdatedBefore before,
                        Launch launch) const {
  for (int i = 0; i < executor.updates(before); ++i) {
    Update u = executor.update(i, before);
    parameters_.fill(u);
    u.samples = static_cast<int>(micro.count);
    u.advance = static_cast<std::uint32_t>(micro.advance);
    launch(u);
  }
}

void Steps::update(const Executor& executor) const {
  each_update(executor, {}, UpdatedBefore::none, [&](Update& u) {
    u.from_gradients = true;
    check(launch_update(u, stream_), "the update");
  });
}

void Steps::settle(const Executor& executor, const Micro& micro, bool updates) const {
  const bool whole = micro.count == micro.batch, last = micro.first + micro.count == micro.batch;
  const UpdatedBefore before = updated_before(executor, micro);
  const auto each = [&](auto launch) { each_update(executor, micro, before, launch); };
  std::optional<WholePredecessors> late;
  if (std::exchange(branches_->joined, false)) late.emplace();
  const bool at_once = whole && updates;
  if (at_once)
    each([&](const Update& u) { check(launch_update(u, stream_), "the update"); });
  else
    each([&](const Update& u) {
      check(launch_sum_partials(u, micro.first > 0, stream_), "summing gradients");
      if (u.ends_step) check(launch_record(u, micro.first > 0, stream_), "the loss");
    });
  if (!last) return;
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
  executor.backward(on_its_way);
  settle(executor, micro, true);
}

void Steps::resident(const Executor& executor, Source split, std::int64_t offset,
                     const Micro& batch) const {
  for_passes(batch.count, executor.program().micro_batch,
             [&](std::int64_t first, std::int64_t count) {
               split.first = static_cast<std::uint32_t>(offset + first);
               run(executor, split, {first, count, batch.count, batch.advance, batch.measured});
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
      Micro micro{0, key.batch, key.batch, 0, key.norm_every > 0 && i % key.norm_every == 0};
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
