#include "engine/extents.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace sweetspot::engine {
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
  Extent operator()(const model::DepthwiseConv2D& conv) const {
    return windows(conv.kernel, conv.strides, conv.padding);
  }
  Extent operator()(const model::Border& border) const {
    const auto needed = [](std::int64_t size, std::int64_t live, std::int64_t spread,
                           std::int64_t before) {
      return std::clamp<std::int64_t>((live - before + spread - 1) / spread, 1, size);
    };
    return {needed(layer.input.height, out.height, border.spread.height, border.top),
            needed(layer.input.width, out.width, border.spread.width, border.left),
            layer.input.channels};
  }
  Extent operator()(const model::Repeat& repeat) const {
    return {(out.height + repeat.height - 1) / repeat.height,
            (out.width + repeat.width - 1) / repeat.width, layer.input.channels};
  }
  Extent operator()(const model::GaussianNoise&) const { return out; }
  Extent operator()(const model::Rescaling&) const { return out; }
  Extent operator()(const model::PReLU&) const { return out; }
  Extent operator()(const model::LayerNormalization&) const {
    return layer.input.vector ? full(layer.input) : out;
  }
  Extent operator()(const model::Pooling2D& pool) const {
    return windows(pool.size, pool.strides, pool.padding);
  }
  Extent operator()(const model::Dropout&) const { return out; }
  Extent operator()(const model::Activate&) const { return out; }
  Extent operator()(const auto&) const { return full(layer.input); }
};

struct KeepsLayout {
  bool operator()(const model::Flatten&) const { return true; }
  bool operator()(const model::Dropout&) const { return true; }
  bool operator()(const model::GaussianNoise&) const { return true; }
  bool operator()(const model::Rescaling&) const { return true; }
  bool operator()(const model::Activate&) const { return true; }
  bool operator()(const model::PReLU&) const { return true; }
  bool operator()(const model::BatchNormalization&) const { return true; }
  bool operator()(const model::LayerNormalization&) const { return true; }
  bool operator()(const auto&) const { return false; }
};

// Offsets inside a sample are 32 bits wide. Computed in double, since products may overflow any
// integer.
constexpr double most_floats = std::numeric_limits<std::int32_t>::max();

double padded_floats(double height, double width, std::int64_t channels) {
  return height * width * static_cast<double>(round_up(channels, unit));
}

// The largest buffer that a layer reads, writes or lays out for one sample.
double sample_floats(const model::Layer& layer, const Extent& in, const Extent& out) {
  double most = std::max(
      padded_floats(static_cast<double>(in.height), static_cast<double>(in.width), in.channels),
      padded_floats(static_cast<double>(out.height), static_cast<double>(out.width), out.channels));
  if (const auto* conv = std::get_if<model::Conv2D>(&layer.kind)) {
    const auto high = static_cast<double>(conv->kernel.height),
               wide = static_cast<double>(conv->kernel.width);
    // The frame with its padding on both sides, and one filter over all channels.
    most = std::max({most,
                     padded_floats(static_cast<double>(in.height) + 2 * high,
                                   static_cast<double>(in.width) + 2 * wide,
                                   std::max(in.channels, out.channels)),
                     padded_floats(high, wide, in.channels)});
  }
  return most;
}

void check_sizes(const model::Network& network, const std::vector<Extent>& extents) {
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    if (sample_floats(network.layers[i], extents[i], extents[i + 1]) > most_floats)
      throw core::InputError(
          fmt::format("layer {} of model {} takes more than 2^31 values for one sample, channels "
                      "in units of {}; make it smaller",
                      network.layers[i].name, network.name, unit));
}

// Few channels are stored contiguously.
bool is_compact(const model::Shape& input) { return input.channels <= unit / 2; }

}  // namespace

model::Network flattened_first(model::Network network) {
  const auto mixes = [](const model::Layer& layer) {
    return !std::holds_alternative<model::Rescaling>(layer.kind);
  };
  const auto flatten = std::ranges::find_if(network.layers, mixes);
  if (flatten == network.layers.end() || !std::holds_alternative<model::Flatten>(flatten->kind))
    return network;
  network.input = model::Shape::of_vector(network.input.size());
  for (auto layer = network.layers.begin(); layer <= flatten; ++layer)
    layer->input = layer->output = network.input;
  return network;
}

std::vector<Extent> live_extents(const model::Network& network) {
  std::vector<Extent> extents(network.layers.size() + 1);
  extents.back() = full(network.output());
  for (std::size_t i = network.layers.size(); i-- > 0;)
    extents[i] = std::visit(Reader{network.layers[i], extents[i + 1]}, network.layers[i].kind);
  // These layers pass through what they get: a flattened image keeps its layout up to the layer
  // that mixes its elements, and what batch normalisation needs in full stays in full after it.
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const auto& kind = network.layers[i].kind;
    if (std::visit(KeepsLayout{}, kind)) extents[i + 1] = extents[i];
    // Channels are repeated position by position, in full if they come in full.
    if (const auto* repeat = std::get_if<model::Repeat>(&kind); repeat && repeat->channels > 1)
      extents[i + 1].height = extents[i].height, extents[i + 1].width = extents[i].width;
    // A rearrangement needs all elements or none.
    if (std::holds_alternative<model::Rearrange>(kind))
      extents[i + 1] = full(network.layers[i].output);
  }
  check_sizes(network, extents);
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
  g.compact = g.raw_input || is_compact(input);
  g.spread = conv.spread != model::Window{1, 1};
  g.input = input;
  g.in = extents[layer], g.out = extents[layer + 1];
  return g;
}

bool runs_transposed(const model::Network& network, std::size_t layer) {
  const auto* conv = std::get_if<model::Conv2D>(&network.layers[layer].kind);
  return conv && conv->spread != model::Window{1, 1} &&
         conv->kernel.height >= conv->spread.height && conv->kernel.width >= conv->spread.width;
}

ConvGeometry transposed_geometry(const model::Network& network, const std::vector<Extent>& extents,
                                 std::size_t layer) {
  const auto& conv = std::get<model::Conv2D>(network.layers[layer].kind);
  const auto& border = std::get<model::Border>(network.layers[layer - 1].kind);
  ConvGeometry g;
  g.kernel = conv.kernel, g.strides = conv.spread;
  g.pad_top = conv.kernel.height - 1 - border.top, g.pad_left = conv.kernel.width - 1 - border.left;
  g.input = network.layers[layer].output;
  g.compact = is_compact(g.input);
  g.in = extents[layer + 1], g.out = extents[layer - 1];
  return g;
}

DepthwisePlane depthwise_plane(const model::Network& network, const std::vector<Extent>& extents,
                               std::size_t layer) {
  const auto& conv = std::get<model::DepthwiseConv2D>(network.layers[layer].kind);
  const model::Shape& input = network.layers[layer].input;
  const Extent &in = extents[layer], &out = extents[layer + 1];
  const auto before = [&](std::int64_t size, std::int64_t window, std::int64_t stride) {
    return model::padding_along(conv.padding, size, window, stride).before;
  };
  return {in.height,
          in.width,
          out.height,
          out.width,
          conv.kernel.height,
          conv.kernel.width,
          conv.strides.height,
          conv.strides.width,
          before(input.height, conv.kernel.height, conv.strides.height),
          before(input.width, conv.kernel.width, conv.strides.width)};
}

}  // namespace sweetspot::engine
