#include "engine/cuda/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "engine/cuda/shapes.h"

namespace sweetspot::engine::cuda {
namespace {

const Options& usable(const Options& options) {
  const Availability found = available();
  if (std::ranges::none_of(found.devices,
                           [&](const Device& d) { return d.index == options.device; }))
    throw core::InputError(found.reason.empty()
                               ? fmt::format("there is no GPU {}; the last one is {}",
                                             options.device, found.devices.back().index)
                               : found.reason);
  check(cudaSetDevice(options.device), "choosing the device");
  return options;
}

void set_record(StepResult& result, const StepRecord& record, std::int64_t samples) {
  result.loss = record.loss / static_cast<double>(samples), result.correct = record.correct;
  if (record.gradient_squared > 0) result.gradient_squared = record.gradient_squared;
}

}  // namespace

CudaTrainer::CudaTrainer(const model::Network& network, const Options& options)
    : network_(flattened_first(network)),
      options_(usable(options)),
      chip_(chip_of(options.device)),
      clock_(stream_),
      parameters_(network_, options_, stream_),
      steps_(options_, parameters_, stream_),
      staging_(stream_) {}

void CudaTrainer::prepare(std::int64_t micro_batch) {
  use();
  if (!executors_.contains(micro_batch))
    executors_.emplace(micro_batch, Executor(compiled(micro_batch, true), stream_));
}

Program CudaTrainer::compiled(std::int64_t micro_batch, bool training) const {
  return compile(network_, options_.trainer.loss, micro_batch, training,
                 math_of(options_.precision), chip_);
}

void CudaTrainer::release(std::int64_t micro_batch) {
  wait("the last steps");
  executors_.erase(micro_batch);
}

Executor& CudaTrainer::executor_of(std::int64_t micro_batch) {
  prepare(micro_batch);
  return executors_.at(micro_batch);
}

void CudaTrainer::wait(const char* doing) const {
  use();
  check(cudaStreamSynchronize(stream_), doing);
}

StepResult CudaTrainer::step(const BatchView& batch, std::int64_t micro_batch) {
  StepResult result = train(batch, micro_batch, true);
  ++steps_done_;
  return result;
}

StepResult CudaTrainer::accumulate(const BatchView& batch, std::int64_t micro_batch) {
  const StepResult result = train(batch, micro_batch, false);
  gradient_squared_ = result.gradient_squared.value_or(0);
  return result;
}

StepResult CudaTrainer::train(const BatchView& batch, std::int64_t micro_batch, bool updates) {
  collect();
  const Executor& executor = executor_of(micro_batch);
  const bool shared = updates && options_.trainer.ranks.group;
  StepResult result;
  reset_slot();
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const Micro micro{first, count, batch.count, 0, !updates, batch.first, batch.batch()};
    Pass pass = steps_.pass(executor, executor.copy_in(batch, first, count), micro);
    pass.ahead = updates ? 1 : 0;
    clock_.start();
    clock_.mark();
    executor.forward(pass);
    clock_.mark();
    executor.backward(pass);
    clock_.mark();
    steps_.settle(executor, micro, updates && !shared);
    clock_.mark();
    wait("a step");
    result.forward += clock_.between(0, 1), result.backward += clock_.between(1, 2);
    result.update += clock_.between(2, 3);
  });
  if (batch.count > 0) set_record(result, parameters_.fetch(parameters_.history()), batch.count);
  if (shared) update_with_others(executor, result, batch.count, batch.batch());
  return result;
}

// The all-reduces run in the ranks' own stream, between two synchronisations with ours.
void CudaTrainer::update_with_others(const Executor& executor, StepResult& part,
                                     std::int64_t samples, std::int64_t whole) {
  const Ranks& ranks = options_.trainer.ranks;
  const std::span<float> gradients = parameters_.gradient_sums();
  if (samples == 0) {
    check(cudaMemsetAsync(gradients.data(), 0, gradients.size_bytes(), stream_), "a step");
    wait("a step");
  }
  const auto start = std::chrono::steady_clock::now();
  ranks.group->all_reduce(gradients);
  double sums[] = {part.loss * static_cast<double>(samples), static_cast<double>(part.correct),
                   ranks.stop && *ranks.stop != 0 ? 1. : 0.};
  ranks.group->sum(sums);
  part.reduction_wait = std::chrono::steady_clock::now() - start;
  part.loss = sums[0] / static_cast<double>(whole);
  part.correct = static_cast<std::int64_t>(sums[1]), part.stops = sums[2] > 0;
  clock_.start();
  clock_.mark();
  steps_.update(executor);
  clock_.mark();
  wait("a step");
  part.update += part.reduction_wait + clock_.between(0, 1);
}

void CudaTrainer::average_statistics(collective::Group& group) {
  std::vector<Variable> own = variables();
  std::erase_if(own, [](const Variable& variable) { return variable.parameter.trainable; });
  for (Variable& variable : own) {
    group.all_reduce(variable.values);
    for (float& value : variable.values) value /= static_cast<float>(group.size());
  }
  assign(own);
}

StepProfile CudaTrainer::profile(const BatchView& batch, std::int64_t micro_batch) {
  collect();
  const Executor& executor = executor_of(micro_batch);
  const Program& program = executor.program();
  StepProfile profile;
  profile.operations = operations_of(program, options_.precision);
  profile.operations.push_back({"weights", "cuda partial gradients and flat update"});
  ThreadProfile device;  // the device is one worker
  device.operations.resize(profile.operations.size());
  reset_slot();
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const Micro micro{.first = first, .count = count, .batch = batch.count, .one_by_one = true};
    Pass pass = steps_.pass(executor, executor.copy_in(batch, first, count), micro);
    clock_.start();
    std::size_t at = clock_.mark();
    const std::size_t begin = at;
    for (const auto& op : program.ops) op->forward(pass), clock_.mark();
    executor.add_penalty_loss(pass);
    const std::size_t turned = at + program.ops.size();
    for (std::size_t i = program.ops.size(); i-- > program.first_trainable;)
      program.ops[i]->backward(pass), clock_.mark();
    pass.flush();
    executor.add_penalty_gradients(pass);
    const std::size_t returned = clock_.mark();
    steps_.settle(executor, micro, true);
    const std::size_t end = clock_.mark();
    wait("a step");
    for (auto& op : device.operations)
      if (&op != &device.operations.back()) op.forward += clock_.between(at, at + 1), ++at;
    for (std::size_t i = program.ops.size(); i-- > program.first_trainable;)
      device.operations[i].backward += clock_.between(at, at + 1), ++at;
    device.operations.back().update += clock_.between(returned, end);
    profile.result.forward += clock_.between(begin, turned);
    profile.result.backward += clock_.between(turned, returned);
    profile.result.update += clock_.between(returned, end);
  });
  set_record(profile.result, parameters_.fetch(parameters_.history()), batch.count);
  profile.threads.push_back(std::move(device));
  ++steps_done_;
  return profile;
}

template <class Take>
StepResult CudaTrainer::evaluate(std::int64_t samples, Take take) {
  use();
  if (!evaluator_) evaluator_.emplace(compiled(evaluation_batch, false), stream_);
  for_passes(samples, evaluation_batch, [&](std::int64_t first, std::int64_t count) {
    Pass pass =
        steps_.pass(*evaluator_, take(*evaluator_, first, count), {first, count, samples, 0});
    evaluator_->forward(pass);
    Update u = evaluator_->update();
    u.state = parameters_.evaluation_state(), u.history = parameters_.evaluation_record();
    u.samples = static_cast<int>(count);
    check(launch_record(u, first > 0, stream_), "the loss");
  });
  StepResult result;
  set_record(result, parameters_.fetch(parameters_.evaluation_record()), samples);
  return result;
}

StepResult CudaTrainer::evaluate(const BatchView& batch) {
  return evaluate(batch.count,
                  [&](const Executor& executor, std::int64_t first, std::int64_t count) {
                    return executor.copy_in(batch, first, count);
                  });
}

StepResult CudaTrainer::evaluate_resident() {
  const ResidentSplit& test = resident(Split::test);
  return evaluate(test.count, [&](const Executor&, std::int64_t first, std::int64_t) {
    Source source = test.source;
    source.first = static_cast<std::uint32_t>(first);
    return source;
  });
}

const ResidentSplit& CudaTrainer::resident(Split split) const {
  const ResidentSplit& found = splits_[static_cast<std::size_t>(split)];
  if (found.count == 0)
    throw core::InputError(split == Split::train ? "no training samples were uploaded"
                                                 : "no test samples were uploaded");
  return found;
}

void CudaTrainer::upload(Split split, const ResidentSamples& samples) {
  collect();
  for (auto& [micro_batch, executor] : executors_) executor.graphs.clear();
  ResidentSplit& to = splits_[static_cast<std::size_t>(split)];
  to = ResidentSplit();  // frees the old one first
  to = upload_split(split, samples);
}

core::MemoryByUse CudaTrainer::memory() const {
  core::MemoryByUse memory = parameters_.memory();
  for (const ResidentSplit& split : splits_) memory += split.memory();
  for (const auto& [micro_batch, executor] : executors_) memory += executor.memory();
  if (evaluator_) memory += evaluator_->memory();
  return memory;
}

void CudaTrainer::reset_slot() const {
  check(cudaMemsetAsync(&parameters_.state()->slot, 0, sizeof(std::uint32_t), stream_), "a step");
}

void CudaTrainer::make_room(std::size_t steps) {
  if (queued_.size() + steps > history_steps) collect();
  if (steps > history_steps)
    throw core::InputError(
        fmt::format("{} steps are too many for one start; give a part of the order", steps));
  if (queued_.empty()) reset_slot();
}

void CudaTrainer::collect() {
  wait("its steps");
  if (queued_.empty()) return;
  std::vector<StepRecord> records(queued_.size());
  check(cudaMemcpy(records.data(), parameters_.history(), records.size() * sizeof(StepRecord),
                   cudaMemcpyDeviceToHost),
        "reading the losses");
  for (std::size_t i = 0; i < records.size(); ++i)
    set_record(results_.emplace_back(), records[i], queued_[i]);
  queued_.clear();
}

std::vector<StepResult> CudaTrainer::finish() {
  collect();
  return std::exchange(results_, {});
}

std::unique_ptr<ResidentTrainer> make_trainer(const model::Network& network,
                                              const Options& options) {
  return std::make_unique<CudaTrainer>(network, options);
}

}  // namespace sweetspot::engine::cuda
