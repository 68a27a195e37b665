#include "model/network.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace sweetspot::model {

std::string to_string(const Shape& shape) {
  const std::string channels = std::to_string(shape.channels);
  if (shape.vector) return channels;
  if (shape.sequence) return std::to_string(shape.width) + "×" + channels;
  return std::to_string(shape.height) + "×" + std::to_string(shape.width) + "×" + channels;
}

Pad padding_along(Padding padding, std::int64_t input, std::int64_t window, std::int64_t stride) {
  if (padding == Padding::valid) return {};
  const std::int64_t output = (input + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>(0, (output - 1) * stride + window - input);
  return {total / 2, total - total / 2};  // the odd pixel goes after, as in TensorFlow
}

std::int64_t Parameter::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string_view name(Loss loss) {
  switch (loss) {
    case Loss::sparse_categorical_crossentropy:
      return "sparse_categorical_crossentropy";
    case Loss::categorical_crossentropy:
      return "categorical_crossentropy";
    case Loss::mean_squared_error:
      return "mean_squared_error";
  }
  return "";
}

Loss natural_loss(const Network& network) {
  if (network.layers.empty()) return Loss::mean_squared_error;
  const LayerKind& last = network.layers.back().kind;
  Activation function = Activation::linear;
  if (const auto* conv = std::get_if<Conv2D>(&last)) function = conv->activation;
  if (const auto* conv = std::get_if<DepthwiseConv2D>(&last)) function = conv->activation;
  if (const auto* dense = std::get_if<Dense>(&last)) function = dense->activation;
  if (const auto* activate = std::get_if<Activate>(&last)) function = activate->function;
  return function == Activation::softmax ? Loss::sparse_categorical_crossentropy
                                         : Loss::mean_squared_error;
}

namespace {

// Adds one layer's variables in the order Keras lists them.
struct Lister {
  const Layer& layer;
  std::size_t index;
  std::vector<Parameter>& list;

  // Keras uses the last two sizes as the fans, times the window's area, and the length of a
  // one-dimensional variable for both.
  void add(const char* variable, std::vector<std::int64_t> shape, const Initializer& initializer,
           const Regularizer& regularizer, bool trainable = true) {
    const std::size_t rank = shape.size();
    std::int64_t area = 1;
    for (std::size_t i = 0; i + 2 < rank; ++i) area *= shape[i];
    const std::int64_t out = area * shape.back(), in = rank > 1 ? area * shape[rank - 2] : out;
    list.push_back({layer.name + "/" + variable, index, std::move(shape), initializer, trainable,
                    in, out, regularizer});
  }
  void add_kernel(const char* variable, const Window& window, std::int64_t second_last,
                  std::int64_t last, const Initializer& initializer,
                  const Regularizer& regularizer) {
    if (layer.input.sequence)
      return add(variable, {window.width, second_last, last}, initializer, regularizer);
    add(variable, {window.height, window.width, second_last, last}, initializer, regularizer);
  }

  void operator()(const Conv2D& conv) {
    const std::int64_t in = layer.input.channels, out = conv.filters;
    const Initializer& with = conv.kernel_initializer;
    const Regularizer& penalty = conv.kernel_regularizer;
    switch (conv.layout) {
      case Conv2D::Kernel::conv:
        add_kernel("kernel", conv.kernel, in, out, with, penalty);
        break;
      case Conv2D::Kernel::dense:
        add("kernel", {in, out}, with, penalty);
        break;
      case Conv2D::Kernel::pointwise:
        add_kernel("pointwise_kernel", conv.kernel, in, out, with, penalty);
        break;
      case Conv2D::Kernel::turned:
        add_kernel("kernel", conv.kernel, out, in, with, penalty);
        break;
    }
    if (conv.use_bias) add("bias", {out}, conv.bias_initializer, conv.bias_regularizer);
  }
  void operator()(const DepthwiseConv2D& conv) {
    const std::int64_t out = layer.input.channels;
    if (conv.layout == DepthwiseConv2D::Kernel::grouped)
      add_kernel("kernel", conv.kernel, 1, out, conv.kernel_initializer, conv.kernel_regularizer);
    else
      add_kernel("depthwise_kernel", conv.kernel, out / conv.multiplier, conv.multiplier,
                 conv.kernel_initializer, conv.kernel_regularizer);
    if (conv.use_bias) add("bias", {out}, conv.bias_initializer, conv.bias_regularizer);
  }
  void operator()(const Dense& dense) {
    add("kernel", {layer.input.channels, dense.units}, dense.kernel_initializer,
        dense.kernel_regularizer);
    if (dense.use_bias) add("bias", {dense.units}, dense.bias_initializer, dense.bias_regularizer);
  }
  void operator()(const PReLU& prelu) {
    std::vector<std::int64_t> shape{prelu.shares_channels ? 1 : layer.input.channels};
    if (!layer.input.vector)
      shape.insert(shape.begin(), prelu.shares_width ? 1 : layer.input.width);
    if (!layer.input.vector && !layer.input.sequence)
      shape.insert(shape.begin(), prelu.shares_height ? 1 : layer.input.height);
    add("alpha", std::move(shape), prelu.alpha_initializer, prelu.alpha_regularizer);
  }
  void operator()(const LayerNormalization& norm) {
    if (norm.scale)
      add("gamma", {layer.input.channels}, norm.gamma_initializer, norm.gamma_regularizer);
    if (norm.center)
      add("beta", {layer.input.channels}, norm.beta_initializer, norm.beta_regularizer);
  }
  void operator()(const BatchNormalization& norm) {
    const std::int64_t channels = layer.input.channels;
    if (norm.scale) add("gamma", {channels}, norm.gamma_initializer, norm.gamma_regularizer);
    if (norm.center) add("beta", {channels}, norm.beta_initializer, norm.beta_regularizer);
    add("moving_mean", {channels}, norm.moving_mean_initializer, {}, false);
    add("moving_variance", {channels}, norm.moving_variance_initializer, {}, false);
  }
  void operator()(const auto&) {}
};

}  // namespace

std::vector<Parameter> parameters(const Network& network) {
  std::vector<Parameter> list;
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    std::visit(Lister{network.layers[i], i, list}, network.layers[i].kind);
  return list;
}

}  // namespace sweetspot::model
