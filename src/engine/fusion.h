#pragma once
#include <cstddef>
#include <optional>

#include "model/network.h"

// Which layers are fused into the operation before them, on every engine.
namespace sweetspot::engine {

// Whether the product of `layer` applies a ReLU to its output: its own activation, or the next
// layer, which `layer` is then advanced to.
bool takes_relu(const model::Network& network, std::size_t& layer, model::Activation activation);

// Whether an activation remains a separate operation. ReLU is part of the product; softmax is the
// last function, which the loss computes, and sets `softmax`.
bool stands_alone(model::Activation activation, bool& softmax);

// The first layer from `layer` on that is no Flatten, if it is a K.
template <class K>
const K* past_flatten(const model::Network& network, std::size_t& layer) {
  while (layer < network.layers.size() &&
         std::holds_alternative<model::Flatten>(network.layers[layer].kind))
    ++layer;
  return layer < network.layers.size() ? std::get_if<K>(&network.layers[layer].kind) : nullptr;
}
// The dropout of single values that follows `layer`, with or without Flatten between them.
std::optional<std::size_t> dropout_behind(const model::Network& network, std::size_t layer);
bool norm_behind(const model::Network& network, std::size_t layer);
// Whether the dense layer that follows is the last one, with or without a softmax layer behind it.
bool last_dense_behind(const model::Network& network, std::size_t layer);

}  // namespace sweetspot::engine
