#pragma once
#include <cstddef>

#include "model/network.h"

// Which activations are fused into the operation before them, on every engine.
namespace sweetspot::engine {

// Whether the product of `layer` applies a ReLU to its output: its own activation, or the next
// layer, which `layer` is then advanced to.
bool takes_relu(const model::Network& network, std::size_t& layer, model::Activation activation);

// Whether an activation remains a separate operation. ReLU is part of the product; softmax is the
// last function, which the loss computes, and sets `softmax`.
bool stands_alone(model::Activation activation, bool& softmax);

}  // namespace sweetspot::engine
