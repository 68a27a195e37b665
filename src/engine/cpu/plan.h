#pragma once
#include "engine/cpu/compiled_plan.h"
#include "engine/trainer.h"

namespace sweetspot::engine::cpu {

// The number of partial gradients of convolutions. It depends only on the micro-batch and the model
// as long as there are at most as many threads, so that the sums, and with them the whole training,
// are bitwise the same for any thread count.
std::int64_t gradient_slots(const Program& program, int threads);

// The name and algorithm of each operation of a program.
std::vector<Operation> operations_of(const Program& program);

// What the trainer holds regardless of its plans.
core::MemoryByUse trainer_memory(const WeightLayout& weights, const Optimizer& optimizer);
// What one program adds.
core::MemoryByUse program_memory(const Program& program, int threads);

}  // namespace sweetspot::engine::cpu
