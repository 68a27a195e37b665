#pragma once
#include <optional>

#include "engine/layers.h"
#include "model/network.h"

namespace sweetspot::engine {

// The activations other than linear, ReLU, sigmoid, tanh and softmax, for which every engine has
// its own kernels; nullopt for those.
std::optional<ElementFunction> element_function(const model::Activation& activation);

}  // namespace sweetspot::engine
