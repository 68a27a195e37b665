#include "engine/cpu/extents.h"

#include <algorithm>

namespace sweetspot::engine::cpu {
namespace {

// How far into an axis of `size` positions the first `needed` windows reach.
std::int64_t reach(std::int64_t size, std::int64_t needed, std::int64_t window, std::int64_t stride,
                   model::Padding padding) {
  const std::int64_t before = model::padding_along(padding, size, window, stride).before;
  return std::min(size, (needed - 1) * stride - before + window);
}

Extent full(const model::Shape& shape) { return {shape.height, shape.width, shape.channels}; }

struct Reader {
  const model::Layer& layer;
  const Extent& out;

  Extent windows(const model::Window& size, const model::Window& strides,
                 model::Padding padding) const {
    return {reach(layer.input.height, out.height, size.height, strides.height, padding),
            reach(layer.input.width, out.width, size.width, strides.width, padding),
            layer.input.channels};
  }
  Extent operator()(const model::Conv2D& conv) const {
    return windows(conv.kernel, conv.strides, conv.padding);
  }
  Extent operator()(const model::Pooling2D& pool) const {
    return windows(pool.size, pool.strides, pool.padding);
  }
  Extent operator()(const model::Dropout&) const { return out; }
  Extent operator()(const model::Activate&) const { return out; }
  Extent operator()(const auto&) const { return full(layer.input); }
};

}  // namespace

std::vector<Extent> live_extents(const model::Network& network) {
  std::vector<Extent> extents(network.layers.size() + 1);
  extents.back() = full(network.output());
  for (std::size_t i = network.layers.size(); i-- > 0;)
    extents[i] = std::visit(Reader{network.layers[i], extents[i + 1]}, network.layers[i].kind);
  // A flattened image keeps its layout up to the layer that mixes its elements.
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const auto& kind = network.layers[i].kind;
    if (std::holds_alternative<model::Flatten>(kind) ||
        (network.layers[i].input.vector &&
         (std::holds_alternative<model::Dropout>(kind) ||
          std::holds_alternative<model::Activate>(kind) ||
          std::holds_alternative<model::BatchNormalization>(kind))))
      extents[i + 1] = extents[i];
  }
  return extents;
}

ConvGeometry conv_geometry(const model::Network& network, const std::vector<Extent>& extents,
                           std::size_t layer) {
  const auto& conv = std::get<model::Conv2D>(network.layers[layer].kind);
  const model::Shape& input = network.layers[layer].input;
  ConvGeometry g;
  g.kernel = conv.kernel, g.strides = conv.strides;
  g.pad_top =
      model::padding_along(conv.padding, input.height, conv.kernel.height, conv.strides.height)
          .before;
  g.pad_left =
      model::padding_along(conv.padding, input.width, conv.kernel.width, conv.strides.width).before;
  g.raw_input = layer == 0;
  g.input = input;
  g.in = extents[layer], g.out = extents[layer + 1];
  return g;
}

}  // namespace sweetspot::engine::cpu
