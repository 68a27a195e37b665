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

}  // namespace sweetspot::engine
