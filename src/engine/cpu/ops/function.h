#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// What is left of the activations beside linear, ReLU, sigmoid, tanh and softmax, which
// elementwise.h and the loss have; nothing for those.
std::optional<ElementFunction> element_function(const model::Activation& activation);
std::unique_ptr<Op> make_function(std::string name, const model::Activation& activation, Tensor* in,
                                  Tensor* out);

std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cpu
