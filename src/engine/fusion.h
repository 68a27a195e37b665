#pragma once
#include <cstddef>

#include "model/network.h"

// Which activations run inside the operation before them, whatever the engine.
namespace sweetspot::engine {

// Whether a product of `layer` rectifies its output: by its own activation, or because the layer
// behind it is a ReLU, over which `layer` is then moved.
bool takes_relu(const model::Network& network, std::size_t& layer, model::Activation activation);

// Whether an activation is left as an operation of its own. ReLU is part of the product; softmax is
// the last function, which the loss computes, and sets `softmax`.
bool stands_alone(model::Activation activation, bool& softmax);

}  // namespace sweetspot::engine
