#include <fmt/format.h>

#include "core/error.h"
#include "engine/cuda/compiled_plan.h"
#include "engine/cuda/kernels/ranks.h"
#include "engine/cuda/shapes.h"

namespace sweetspot::engine::cuda {
namespace {

core::Bytes float_bytes(std::int64_t count) {
  return static_cast<core::Bytes>(count) * sizeof(float);
}

class CudaPlan final : public Plan {
 public:
  CudaPlan(const Program& program, Precision precision, const core::MemoryByUse& memory)
      : micro_batch_(program.micro_batch),
        operations_(operations_of(program, precision)),
        memory_(memory) {}

  std::int64_t micro_batch() const override { return micro_batch_; }
  core::MemoryByUse memory() const override { return memory_; }
  std::vector<Operation> operations() const override { return operations_; }

 private:
  std::int64_t micro_batch_;
  std::vector<Operation> operations_;
  core::MemoryByUse memory_;
};

}  // namespace

BatchView part_of(const BatchView& batch, const HostBatch& host, std::int64_t first,
                  std::int64_t count) {
  return {count, batch.inputs + first * host.sample_floats,
          batch.labels ? batch.labels + first : nullptr,
          batch.targets ? batch.targets + first * host.outputs : nullptr};
}

std::vector<PartialGradients> Program::partials() const {
  std::vector<PartialGradients> all;
  for (std::size_t i = 0; i < ops.size(); ++i)
    for (PartialGradients p : ops[i]->partials()) {
      // Penalties are added after the whole backward pass.
      p.early = !ops[i]->in_last_launch && penalties.empty();
      p.op = i;
      all.push_back(p);
    }
  return all;
}

std::vector<Operation> operations_of(const Program& program, Precision precision) {
  std::vector<Operation> operations;
  for (const auto& op : program.ops)
    operations.push_back({op->name(), fmt::format("cuda {} {}", name(precision), op->method())});
  return operations;
}

Math math_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return Math::fp32;
    case Precision::tf32:
      return Math::tf32;
    case Precision::bf16:
      return Math::bf16;
    case Precision::fp16:
      return Math::fp16;
  }
  return Math::fp32;
}

core::Bytes operand_bytes(const WeightLayout& weights, Precision precision) {
  return static_cast<core::Bytes>(weights.operands) * operand_bytes(math_of(precision));
}

core::MemoryByUse trainer_memory(const WeightLayout& weights, const Options& options) {
  const Optimizer& optimizer = options.trainer.optimizer;
  core::MemoryByUse memory;
  memory[core::Use::weights] =
      float_bytes(weights.floats) + operand_bytes(weights, options.precision);
  memory[core::Use::gradients] = float_bytes(weights.trainable_floats);
  memory[core::Use::optimizer] =
      float_bytes(weights.trainable_floats * state_floats(optimizer.kind));
  memory[core::Use::workspace] = 2 * sizeof(StepState) +
                                 (history_steps + 1) * sizeof(StepRecord) +  // one for evaluation
                                 sizeof(RankSumsRecord);
  return memory;
}

core::MemoryByUse program_memory(const Program& program) {
  core::MemoryByUse memory;
  memory[core::Use::activations] = program.arena_bytes;
  memory[core::Use::input] =
      static_cast<core::Bytes>(program.host_rooms()) * program.host_batch.bytes();
  if (!program.training) return memory;
  memory[core::Use::gradients] = float_bytes(program.partial_floats);
  return memory;
}

std::unique_ptr<Plan> plan(const model::Network& given, const Options& options,
                           std::int64_t micro_batch, bool with_evaluation) {
  if (micro_batch < 1)
    throw core::InputError(fmt::format("batch {} is no batch; use 1 or more", micro_batch));
  const model::Network network = flattened_first(given);
  const Chip chip = chip_of(options.device);
  const auto compiled = [&](std::int64_t count, bool training) {
    return compile(network, options.trainer.loss, count, training, math_of(options.precision),
                   chip);
  };
  const Program program = compiled(micro_batch, true);
  core::MemoryByUse memory = trainer_memory(program.weights, options);
  memory += program_memory(program);
  if (with_evaluation) memory += program_memory(compiled(evaluation_batch, false));
  return std::make_unique<CudaPlan>(program, options.precision, memory);
}

core::MemoryByUse added_memory(const model::Network& network, const Options& options,
                               std::int64_t micro_batch) {
  return program_memory(compile(flattened_first(network), options.trainer.loss, micro_batch, true,
                                math_of(options.precision), chip_of(options.device)));
}

}  // namespace sweetspot::engine::cuda
