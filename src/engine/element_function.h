#pragma once
#include <optional>

#include "engine/layers.h"
#include "model/network.h"

namespace sweetspot::engine {

// What is left of the activations beside linear, ReLU, sigmoid, tanh and softmax, which every
// engine has kernels of its own for; nothing for those.
std::optional<ElementFunction> element_function(const model::Activation& activation);

}  // namespace sweetspot::engine
