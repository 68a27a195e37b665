#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/keras/layer_options.h"
#include "model/keras/layers.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;
using Kinds = std::vector<LayerKind>;

// Common to every convolution.
struct WindowFields {
  Window kernel, strides;
  Padding padding = Padding::valid;
  Border causal;  // zeros before a sequence
};

WindowFields read_window_fields(Fields& config, const Shape& input) {
  WindowFields c;
  config.need("kernel_size");
  c.kernel = *read_window(config, "kernel_size", input);
  c.strides = read_window(config, "strides", input).value_or(Window{1, 1});
  if (input.sequence && config.word("padding", "valid") == "causal")
    c.causal.left = c.kernel.width - 1;
  else
    c.padding = read_padding(config);
  only_channels_last(config);
  if (read_window(config, "dilation_rate", input).value_or(Window{1, 1}) != Window{1, 1})
    config.refuse("dilation_rate",
                  fmt::format("{} is not supported, only 1", shown(config.need("dilation_rate"))));
  return c;
}

template <class Layer>
Layer with_common(Fields& config, const WindowFields& common) {
  Layer layer;
  layer.kernel = common.kernel, layer.strides = common.strides, layer.padding = common.padding;
  layer.use_bias = config.flag("use_bias", true);
  layer.bias_initializer = read_initializer(config, "bias_initializer", zeros());
  layer.bias_regularizer = read_regularizer(config, "bias_regularizer");
  return layer;
}

void add_causal(const WindowFields& common, Kinds& kinds) {
  if (common.causal.left > 0) kinds.push_back(common.causal);
}

Kinds read_conv(Fields& config, const Shape& input) {
  const WindowFields common = read_window_fields(config, input);
  auto conv = with_common<Conv2D>(config, common);
  conv.filters = config.need_size("filters");
  conv.activation = read_activation(config, "activation", input);
  conv.kernel_initializer = read_initializer(config, "kernel_initializer", glorot_uniform());
  conv.kernel_regularizer = read_regularizer(config, "kernel_regularizer");
  Kinds kinds;
  add_causal(common, kinds);
  const std::int64_t groups = config.find("groups") ? config.need_size("groups") : 1;
  if (groups == 1) {
    kinds.push_back(conv);
    return kinds;
  }
  if (groups != input.channels || conv.filters % groups != 0)
    config.refuse("groups", fmt::format("{} is not supported, only 1, or as many as the input has "
                                        "channels ({})",
                                        groups, input.channels));
  auto depthwise = with_common<DepthwiseConv2D>(config, common);
  depthwise.multiplier = conv.filters / groups, depthwise.activation = conv.activation;
  depthwise.kernel_initializer = conv.kernel_initializer;
  depthwise.kernel_regularizer = conv.kernel_regularizer;
  depthwise.layout = DepthwiseConv2D::Kernel::grouped;
  if (depthwise.multiplier > 1) kinds.push_back(Repeat{1, 1, depthwise.multiplier});
  kinds.push_back(depthwise);
  return kinds;
}

// Channels are repeated first, so that each has one filter.
void add_depthwise(Fields& config, DepthwiseConv2D conv, Kinds& kinds) {
  conv.multiplier = config.find("depth_multiplier") ? config.need_size("depth_multiplier") : 1;
  conv.kernel_initializer = read_initializer(config, "depthwise_initializer", glorot_uniform());
  conv.kernel_regularizer = read_regularizer(config, "depthwise_regularizer");
  if (conv.multiplier > 1) kinds.push_back(Repeat{1, 1, conv.multiplier});
  kinds.push_back(conv);
}

Kinds read_depthwise(Fields& config, const Shape& input) {
  const WindowFields common = read_window_fields(config, input);
  auto conv = with_common<DepthwiseConv2D>(config, common);
  conv.activation = read_activation(config, "activation", input);
  config.only_number("groups", 1);
  Kinds kinds;
  add_causal(common, kinds);
  add_depthwise(config, conv, kinds);
  return kinds;
}

// A depthwise convolution without bias, then a 1×1 one.
Kinds read_separable(Fields& config, const Shape& input) {
  const WindowFields common = read_window_fields(config, input);
  auto depthwise = with_common<DepthwiseConv2D>(config, common);
  depthwise.use_bias = false;
  auto pointwise = with_common<Conv2D>(config, {{1, 1}, {1, 1}, Padding::valid, {}});
  pointwise.filters = config.need_size("filters");
  pointwise.activation = read_activation(config, "activation", input);
  pointwise.kernel_initializer =
      read_initializer(config, "pointwise_initializer", glorot_uniform());
  pointwise.kernel_regularizer = read_regularizer(config, "pointwise_regularizer");
  pointwise.layout = Conv2D::Kernel::pointwise;
  config.only_number("groups", 1);
  // Written by Keras 2 but unused.
  config.ignore({"kernel_initializer", "kernel_regularizer", "kernel_constraint"});
  Kinds kinds;
  add_causal(common, kinds);
  add_depthwise(config, depthwise, kinds);
  kinds.push_back(pointwise);
  return kinds;
}

// Zeros between and around the positions, so that the following convolution, with its flipped
// kernel, gives the gradient of a convolution of these strides.
Kinds read_transposed(Fields& config, const Shape& input) {
  const WindowFields common = read_window_fields(config, input);
  if (const json* given = config.find("output_padding"))
    config.refuse("output_padding", fmt::format("{} is not supported, only null", shown(*given)));
  config.only_number("groups", 1);
  auto conv = with_common<Conv2D>(config, {common.kernel, {1, 1}, Padding::valid, {}});
  conv.filters = config.need_size("filters");
  conv.activation = read_activation(config, "activation", input);
  conv.kernel_initializer = read_initializer(config, "kernel_initializer", glorot_uniform());
  conv.kernel_regularizer = read_regularizer(config, "kernel_regularizer");
  conv.layout = Conv2D::Kernel::turned, conv.spread = common.strides;
  Border border;
  border.spread = common.strides;
  const auto along = [&](std::int64_t size, std::int64_t kernel, std::int64_t stride,
                         std::int64_t& before, std::int64_t& after) {
    if (size > max_size / stride)
      config.refuse("strides", "its output is larger than 2^31; make it smaller");
    const std::int64_t out =
        size * stride +
        (common.padding == Padding::same ? 0 : std::max<std::int64_t>(kernel - stride, 0));
    before = kernel - 1 - padding_along(common.padding, out, kernel, stride).before;
    after = out + kernel - 1 - before - ((size - 1) * stride + 1);
  };
  along(input.height, common.kernel.height, common.strides.height, border.top, border.bottom);
  along(input.width, common.kernel.width, common.strides.width, border.left, border.right);
  return {border, conv};
}

}  // namespace

std::vector<Reader> convolution_readers() {
  return {{"Conv2D", of_image<read_conv>},
          {"Conv1D", of_sequence<read_conv>},
          {"DepthwiseConv2D", of_image<read_depthwise>},
          {"DepthwiseConv1D", of_sequence<read_depthwise>},
          {"SeparableConv2D", of_image<read_separable>},
          {"SeparableConv1D", of_sequence<read_separable>},
          {"Conv2DTranspose", of_image<read_transposed>},
          {"Conv1DTranspose", of_sequence<read_transposed>}};
}

}  // namespace sweetspot::model::keras
