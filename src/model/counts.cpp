#include "model/counts.h"

#include <algorithm>
#include <span>

namespace sweetspot::model {
namespace {

// Multiply-adds count twice and a bias once per output; layers without weights cost one FLOP per
// value read, except scale and shift (two), and moving values (Flatten) costs none.
struct ForwardFlops {
  const Layer& layer;

  std::int64_t operator()(const Conv2D& conv) const {
    const std::int64_t reads = conv.kernel.height * conv.kernel.width * layer.input.channels;
    // Products with the zeros between the positions of a transposed convolution do not count.
    const std::int64_t products =
        layer.output.size() / (conv.spread.height * conv.spread.width) * reads;
    return 2 * products + (conv.use_bias ? layer.output.size() : 0) + of(conv.activation);
  }
  std::int64_t operator()(const DepthwiseConv2D& conv) const {
    const std::int64_t reads = conv.kernel.height * conv.kernel.width;
    return layer.output.size() * (2 * reads + (conv.use_bias ? 1 : 0)) + of(conv.activation);
  }
  std::int64_t operator()(const Dense& dense) const {
    return layer.output.size() * (2 * layer.input.channels + (dense.use_bias ? 1 : 0)) +
           of(dense.activation);
  }
  std::int64_t operator()(const Pooling2D& pooling) const {
    return layer.output.size() * pooling.size.height * pooling.size.width;
  }
  std::int64_t operator()(const GlobalAveragePooling2D&) const { return layer.input.size(); }
  std::int64_t operator()(const GlobalMaxPooling2D&) const { return layer.input.size(); }
  std::int64_t operator()(const Flatten&) const { return 0; }
  std::int64_t operator()(const Border&) const { return 0; }
  std::int64_t operator()(const Repeat&) const { return 0; }
  std::int64_t operator()(const Rearrange&) const { return 0; }
  std::int64_t operator()(const Dropout&) const { return layer.input.size(); }
  std::int64_t operator()(const GaussianNoise&) const { return layer.input.size(); }
  std::int64_t operator()(const Rescaling&) const { return 2 * layer.input.size(); }
  std::int64_t operator()(const PReLU&) const { return layer.input.size(); }
  std::int64_t operator()(const Activate& activate) const { return of(activate.function); }
  std::int64_t operator()(const BatchNormalization&) const { return 2 * layer.input.size(); }
  std::int64_t operator()(const LayerNormalization&) const { return 2 * layer.input.size(); }

  std::int64_t of(Activation function) const {
    return function == Activation::linear ? 0 : layer.output.size();
  }
};

struct LayerParameters {
  std::int64_t count = 0;
  bool learn = false;  // any of them
};
std::vector<LayerParameters> parameters_by_layer(const Network& network) {
  std::vector<LayerParameters> found(network.layers.size());
  for (const Parameter& parameter : parameters(network)) {
    LayerParameters& of_layer = found[parameter.layer];
    of_layer.count += parameter.size();
    of_layer.learn = of_layer.learn || parameter.trainable;
  }
  return found;
}

LayerCounts counts_of(const Network& network, std::size_t index,
                      const std::vector<LayerParameters>& parameters) {
  const Layer& layer = network.layers[index];
  LayerCounts counts;
  counts.parameters = parameters[index].count;
  counts.forward_flops = std::visit(ForwardFlops{layer}, layer.kind);
  // Each gradient takes as much arithmetic as the forward pass. That of the input is needed only if
  // something before the layer learns.
  const auto before = std::span(parameters).first(index);
  const int gradients = (parameters[index].learn ? 1 : 0) +
                        (std::ranges::any_of(before, &LayerParameters::learn) ? 1 : 0);
  counts.training_flops = counts.forward_flops * (1 + gradients);
  counts.activation_bytes = layer.output.size() * static_cast<std::int64_t>(sizeof(float));
  return counts;
}

}  // namespace

LayerCounts counts(const Network& network, std::size_t layer) {
  return counts_of(network, layer, parameters_by_layer(network));
}

LayerCounts total_counts(const Network& network) {
  const std::vector<LayerParameters> sizes = parameters_by_layer(network);
  LayerCounts total;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const LayerCounts one = counts_of(network, i, sizes);
    total.parameters += one.parameters;
    total.forward_flops += one.forward_flops;
    total.training_flops += one.training_flops;
    total.activation_bytes += one.activation_bytes;
  }
  return total;
}

}  // namespace sweetspot::model
