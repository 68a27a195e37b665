#pragma once
#include "engine/cuda/compiled_plan.h"

// What neighbouring operations of a program agree on, so that one does the other's work on the way.
namespace sweetspot::engine::cuda {

// The kernel that writes the gradient also undoes a function fused into a product, if it can.
void hand_over_functions(Program& program);

// The producer of a product's 16-bit operand (its input or the gradient of its output) writes it as
// terms, if it can, and no floats are stored. Three terms would be larger than the floats. Where
// one term is enough, normalisations and depthwise convolutions read it too: half of the bytes.
void hand_over_terms(Program& program, const Planner& planner);

// In fp16 a gradient that overflows invalidates the step. An operation may update its weights
// during the backward pass only if all overflows have shown by then.
void leave_updates(Program& program, Math math);

}  // namespace sweetspot::engine::cuda
