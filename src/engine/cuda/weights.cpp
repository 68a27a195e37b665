#include "engine/cuda/weights.h"

#include <algorithm>

#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/shapes.h"

namespace sweetspot::engine::cuda {
namespace {

// Rows are those of the layer's input in memory order.
void place_rows(PlacedVariable& v, const model::Layer& layer, const Extent& in, bool from_samples) {
  const bool kernel = v.parameter.shape.size() > 1;
  const auto* conv = std::get_if<model::Conv2D>(&layer.kind);
  const bool flat_norm = (std::holds_alternative<model::BatchNormalization>(layer.kind) ||
                          std::holds_alternative<model::LayerNormalization>(layer.kind)) &&
                         layer.input.vector;
  if (kernel && std::holds_alternative<model::DepthwiseConv2D>(layer.kind)) {
    v.channels = in.channels, v.channel_pitch = padded(in.channels);
    v.floats = v.parameter.size() / v.channels * v.channel_pitch;
  } else if (kernel && conv && conv->layout == model::Conv2D::Kernel::turned) {
    v.channels = in.channels, v.channel_pitch = padded(in.channels);
    v.columns = conv->filters, v.column_pitch = padded(v.columns);
    v.turned_taps = conv->kernel.height * conv->kernel.width;
    v.floats = v.turned_taps * v.channel_pitch * v.column_pitch;
  } else if (kernel && (conv || std::holds_alternative<model::Dense>(layer.kind))) {
    v.channels = in.channels, v.channel_pitch = from_samples ? in.channels : padded(in.channels);
    v.columns = v.parameter.shape.back(), v.column_pitch = padded(v.columns);
    v.floats = v.parameter.size() / v.columns / v.channels * v.channel_pitch * v.column_pitch;
  } else if (flat_norm) {
    v.channels = in.channels, v.channel_pitch = padded(in.channels);
    v.floats = in.positions() * v.channel_pitch;
  } else {
    v.channels = v.parameter.size(), v.floats = v.channel_pitch = padded(v.channels);
  }
}

bool kept_as_operands(const model::Network& network, const std::vector<Extent>& extents,
                      const model::Parameter& parameter, Math math) {
  if (parameter.shape.size() <= 1 ||
      !std::holds_alternative<model::Conv2D>(network.layers[parameter.layer].kind))
    return false;
  const ConvShape shape = conv_shape(network, extents, parameter.layer);
  // As packed products read it, without padding: one 16-bit term.
  const bool packed = operand_bytes(math) == 2 && shape.channels % 8 == 0 && shape.filters % 8 == 0;
  return packed || on_chip_supports(shape);
}

}  // namespace

const PlacedVariable* WeightLayout::find(std::size_t layer, std::string_view variable) const {
  const auto found = std::ranges::find_if(variables, [&](const PlacedVariable& v) {
    return v.parameter.layer == layer && v.parameter.name.ends_with("/" + std::string(variable));
  });
  return found == variables.end() ? nullptr : &*found;
}

bool starts_from_samples(const model::Network& network, const std::vector<Extent>& extents) {
  if (network.layers.empty() || !std::holds_alternative<model::Conv2D>(network.layers[0].kind))
    return false;
  const auto& conv = std::get<model::Conv2D>(network.layers[0].kind);
  if (conv.activation != model::Activation::relu && conv.activation != model::Activation::linear)
    return false;
  ConvShape shape = conv_shape(network, extents, 0);
  if (!pooled_by_two(network, extents, 1)) return false;
  shape.pool = 2, shape.channels = static_cast<int>(extents[0].channels);
  shape.filters = static_cast<int>(extents[1].channels);
  return first_conv_supports(shape);
}

WeightLayout weight_layout(const model::Network& network, const std::vector<Extent>& extents,
                           Math math) {
  WeightLayout layout;
  const bool from_samples = starts_from_samples(network, extents);
  for (const model::Parameter& parameter : model::parameters(network)) {
    PlacedVariable v;
    v.parameter = parameter;
    const bool first = from_samples && parameter.layer == 0;
    place_rows(v, network.layers[parameter.layer], extents[parameter.layer], first);
    if (!first && kept_as_operands(network, extents, parameter, math))
      v.operands = layout.operands, layout.operands += v.floats;
    layout.variables.push_back(std::move(v));
  }
  for (const bool trainable : {true, false}) {
    for (PlacedVariable& v : layout.variables)
      if (v.parameter.trainable == trainable) v.offset = layout.floats, layout.floats += v.floats;
    if (trainable) layout.trainable_floats = layout.floats;
  }
  return layout;
}

}  // namespace sweetspot::engine::cuda
