#include "engine/cpu/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/optimize.h"

namespace sweetspot::engine::cpu {
namespace {

core::Bytes float_bytes(std::int64_t count) {
  return static_cast<core::Bytes>(count) * sizeof(float);
}

class CpuPlan final : public Plan {
 public:
  CpuPlan(Program program, const core::MemoryByUse& memory)
      : program_(std::move(program)), memory_(memory) {}

  std::int64_t micro_batch() const override { return program_.micro_batch; }
  core::MemoryByUse memory() const override { return memory_; }
  std::vector<Operation> operations() const override { return operations_of(program_); }

 private:
  Program program_;
  core::MemoryByUse memory_;
};

}  // namespace

std::vector<Operation> operations_of(const Program& program) {
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = *program.ops[i];
    if (program.operation_of[i] == operations.size())
      operations.push_back({op.name(), fmt::format("{} {}", kernels().name, op.method()), false});
    operations.back().updates_weights |= op.late();
  }
  return operations;
}

std::int64_t gradient_slots(const Program& program, int threads) {
  // Enough slots for every thread of a typical machine, unless the convolutions are so large that
  // sixteen copies of their gradients would not fit the last-level cache.
  constexpr std::int64_t many = 16, few = 4, cached_floats = 1 << 20;
  const std::int64_t most =
      std::max<std::int64_t>(program.slot_floats * many <= 4 * cached_floats ? many : few, threads);
  // A slot is zeroed and summed in each step: four samples amortise that. A block has one slot.
  const std::int64_t count = program.micro_batch;
  return std::min({most, std::max(std::min<std::int64_t>(count, few), (count + 3) / 4),
                   (count + program.block - 1) / program.block});
}

core::MemoryByUse trainer_memory(const WeightLayout& weights, const Optimizer& optimizer) {
  core::MemoryByUse memory;
  memory[core::Use::weights] = float_bytes(weights.floats());
  memory[core::Use::gradients] = float_bytes(weights.trainable_floats());
  memory[core::Use::optimizer] =
      float_bytes(weights.trainable_floats() * state_floats(optimizer.kind));
  return memory;
}

core::MemoryByUse program_memory(const Program& program, int threads) {
  core::MemoryByUse memory;
  memory[core::Use::activations] = program.arena_bytes;
  memory[core::Use::workspace] = program.scratch_bytes * static_cast<core::Bytes>(threads) +
                                 float_bytes(program.shared_floats);
  if (program.training)
    memory[core::Use::gradients] =
        float_bytes(gradient_slots(program, threads) * program.slot_floats);
  return memory;
}

std::unique_ptr<Plan> plan(const model::Network& network, const TrainerOptions& options,
                           std::int64_t micro_batch, bool with_evaluation) {
  if (micro_batch < 1)
    throw core::InputError(fmt::format("batch {} is no batch; use 1 or more", micro_batch));
  Program program = compile(network, options.loss, micro_batch, true, options.precision);
  core::MemoryByUse total = planned_memory(network, options, {.evaluation = with_evaluation});
  total += program_memory(program, options.threads);
  return std::make_unique<CpuPlan>(std::move(program), total);
}

core::MemoryByUse planned_memory(const model::Network& network, const TrainerOptions& options,
                                 const Plans& plans) {
  core::MemoryByUse total = trainer_memory(weight_layout(network), options.optimizer);
  const auto add = [&](const model::Network& compiled, std::int64_t samples, bool training) {
    total += program_memory(compile(compiled, options.loss, samples, training, options.precision),
                            options.threads);
  };
  for (const std::int64_t micro_batch : plans.micro_batches) add(network, micro_batch, true);
  if (plans.evaluation) add(network, evaluation_batch, false);
  if (plans.evaluation_gradients) add(without_randomness(network), evaluation_batch, true);
  return total;
}

}  // namespace sweetspot::engine::cpu
