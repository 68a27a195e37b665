#include "engine/fusion.h"

namespace sweetspot::engine {

using model::Activation;

bool takes_relu(const model::Network& network, std::size_t& layer, Activation activation) {
  if (activation == Activation::relu) return true;
  if (activation != Activation::linear || layer + 1 >= network.layers.size()) return false;
  const auto* next = std::get_if<model::Activate>(&network.layers[layer + 1].kind);
  if (!next || next->function != Activation::relu) return false;
  ++layer;
  return true;
}

bool stands_alone(Activation activation, bool& softmax) {
  softmax |= activation == Activation::softmax;
  return activation != Activation::relu && activation != Activation::linear &&
         activation != Activation::softmax;
}

std::optional<std::size_t> dropout_behind(const model::Network& network, std::size_t layer) {
  ++layer;
  const auto* dropout = past_flatten<model::Dropout>(network, layer);
  if (!dropout || dropout->rate == 0 || dropout->whole_channels) return std::nullopt;
  return layer;
}

bool norm_behind(const model::Network& network, std::size_t layer) {
  return layer + 1 < network.layers.size() &&
         std::holds_alternative<model::BatchNormalization>(network.layers[layer + 1].kind);
}

bool last_dense_behind(const model::Network& network, std::size_t layer) {
  if (!past_flatten<model::Dense>(network, ++layer)) return false;
  const std::size_t left = network.layers.size() - layer - 1;
  return left == 0 ||
         (left == 1 && std::holds_alternative<model::Activate>(network.layers.back().kind));
}

}  // namespace sweetspot::engine
