#include "engine/cuda/trainer.h"

#include <fmt/format.h>

#include <algorithm>

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
      sums_(options.trainer.ranks.on_gpus
                ? std::optional<GradientSums>(std::in_place, options.trainer.ranks, parameters_,
                                          options.trainer.optimizer, stream_)
                : std::nullopt),
      steps_(options_, parameters_, sums_ ? &*sums_ : nullptr, stream_),
      staging_(stream_) {}

void CudaTrainer::prepare(std::int64_t micro_batch) {
  use();
  if (!executors_.contains(micro_batch))
    executors_.emplace(
        micro_batch,
        Executor(compiled(micro_batch, true), stream_,
                 sums_ ? std::optional(options_.trainer.ranks.bucket_bytes) : std::nullopt));
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

StepResult CudaTrainer::accumulate_resident(std::span<const std::uint32_t> order,
                                            std::int64_t micro_batch) {
  const ResidentSplit& train_split = resident(Split::train);
  collect();
  set_order(train_split, order);
  BatchView batch;
  batch.count = static_cast<std::int64_t>(order.size());
  const StepResult result =
      train(batch, micro_batch, false, [&](const Executor&, std::int64_t first, std::int64_t) {
        Source source = train_split.source;
        source.first = static_cast<std::uint32_t>(first);
        return source;
      });
  gradient_squared_ = result.gradient_squared.value_or(0);
  return result;
}

StepResult CudaTrainer::train(const BatchView& batch, std::int64_t micro_batch, bool updates) {
  return train(batch, micro_batch, updates,
               [&](const Executor& executor, std::int64_t first, std::int64_t count) {
                 return executor.copy_in(batch, first, count);
               });
}

template <class Take>
StepResult CudaTrainer::train(const BatchView& batch, std::int64_t micro_batch, bool updates,
                              Take take) {
  collect();
  const Executor& executor = executor_of(micro_batch);
  const bool shared = updates && sums_;
  StepResult result;
  reset_slot();
  if (shared) sums_->note_stop();
  const auto waited = [&](std::size_t first, std::size_t settled) {
    wait("a step");
    result.update += clock_.between(settled, clock_.marks() - 1);
    if (shared) result.reduction_wait += waited_for_ranks(first);
  };
  if (batch.count == 0 && shared) {
    clock_.start();
    const std::size_t begin = clock_.mark();
    steps_.run_without_samples(executor, 0, &clock_);
    clock_.mark();
    waited(begin + 1, begin);
  }
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const Micro micro{first, count, batch.count, 0, !updates, batch.first, batch.batch()};
    Pass pass = steps_.pass(executor, take(executor, first, count), micro);
    pass.ahead = updates ? 1 : 0;
    clock_.start();
    clock_.mark();
    executor.forward(pass);
    clock_.mark();
    steps_.backward(executor, pass, micro, updates);
    const std::size_t made = clock_.mark();
    steps_.settle(executor, micro, updates, &clock_);
    clock_.mark();
    waited(made + 1, made);
    result.forward += clock_.between(0, 1), result.backward += clock_.between(1, 2);
  });
  if (batch.count > 0 || shared) read_record(result, shared ? batch.batch() : batch.count);
  return result;
}

void CudaTrainer::read_record(StepResult& result, std::int64_t samples) const {
  set_record(result, parameters_.fetch(parameters_.history()), samples);
  if (!sums_) return;
  sums_->check();
  result.stops = sums_->stops();
}

core::Seconds CudaTrainer::waited_for_ranks(std::size_t first) const {
  core::Seconds waited{0};
  for (std::size_t i = first; i + 1 < clock_.marks(); i += 2) waited += clock_.between(i, i + 1);
  return waited;
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
  if (sums_) sums_->note_stop();
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const Micro micro{.first = first, .count = count, .batch = batch.count,
                      .place = batch.first, .whole = batch.batch(), .one_by_one = true};
    Pass pass = steps_.pass(executor, executor.copy_in(batch, first, count), micro);
    clock_.start();
    std::size_t at = clock_.mark();
    const std::size_t begin = at;
    for (const auto& op : program.ops) op->forward(pass), clock_.mark();
    executor.add_penalty_loss(pass);
    const std::size_t turned = at + program.ops.size();
    steps_.backward(executor, pass, micro, true, [&](std::size_t) { clock_.mark(); });
    const std::size_t returned = clock_.mark();
    steps_.settle(executor, micro, true, &clock_);
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
    if (sums_) profile.result.reduction_wait += waited_for_ranks(returned + 1);
  });
  read_record(profile.result, batch.batch());
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
  if (sums_) sums_->check();
  std::vector<StepRecord> records(queued_.size());
  check(cudaMemcpy(records.data(), parameters_.history(), records.size() * sizeof(StepRecord),
                   cudaMemcpyDeviceToHost),
        "reading the losses");
  for (std::size_t i = 0; i < records.size(); ++i)
    set_record(results_.emplace_back(), records[i], queued_[i]);
  if (sums_) results_.back().stops = sums_->stops();
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
