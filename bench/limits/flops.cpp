#include <algorithm>
#include <variant>

#include "limits/limits.h"
#include "model/network.h"

namespace sweetspot::bench {
namespace {

using model::Layer;
using model::Shape;

// The part of a layer's input that is read when only `used` of its output is.
Shape read_part(const Layer& layer, const Shape& used) {
  const auto part = [&](const model::Window& window, const model::Window& strides) {
    Shape shape = layer.input;
    shape.height = std::min(shape.height, (used.height - 1) * strides.height + window.height);
    shape.width = std::min(shape.width, (used.width - 1) * strides.width + window.width);
    return shape;
  };
  if (const auto* conv = std::get_if<model::Conv2D>(&layer.kind))
    return part(conv->kernel, conv->strides);
  if (const auto* pool = std::get_if<model::Pooling2D>(&layer.kind))
    return part(pool->size, pool->strides);
  const bool elementwise = std::holds_alternative<model::Dropout>(layer.kind) ||
                           std::holds_alternative<model::Activate>(layer.kind);
  return elementwise ? used : layer.input;
}

std::int64_t forward_flops(const Layer& layer, const Shape& output) {
  if (const auto* conv = std::get_if<model::Conv2D>(&layer.kind))
    return 2 * output.size() * conv->kernel.height * conv->kernel.width * layer.input.channels;
  if (std::holds_alternative<model::Dense>(layer.kind))
    return 2 * layer.input.size() * output.size();
  return 0;  // the rest is memory traffic
}

}  // namespace

StepFlops step_flops(const model::Network& network) {
  StepFlops flops;
  Shape used = network.output();
  for (std::size_t i = network.layers.size(); i-- > 0;) {
    const Layer& layer = network.layers[i];
    const int passes = i == 0 ? 2 : 3;  // the gradient of the images is not needed
    flops.nominal += passes * forward_flops(layer, layer.output);
    flops.live += passes * forward_flops(layer, used);
    used = read_part(layer, used);
  }
  return flops;
}

}  // namespace sweetspot::bench
