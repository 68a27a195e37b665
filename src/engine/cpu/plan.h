#pragma once
#include "engine/cpu/compiled_plan.h"
#include "engine/trainer.h"

namespace sweetspot::engine::cpu {

// Partial gradients of convolutions that a micro-batch of `count` samples is summed into. It
// depends on the count and the model alone as long as there are at most as many threads, so that
// the sums, and with them the whole training, are the same bit for bit whatever the thread count.
std::int64_t gradient_slots(std::int64_t count, std::int64_t slot_floats, int threads);

// What each operation of a program is called and does.
std::vector<Operation> operations_of(const Program& program);

// What the trainer holds whatever its plans.
core::MemoryByUse trainer_memory(const WeightLayout& weights, const Optimizer& optimizer);
// What one program adds.
core::MemoryByUse program_memory(const Program& program, int threads);

}  // namespace sweetspot::engine::cpu
