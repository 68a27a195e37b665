#include "model/network.h"

#include <algorithm>
#include <functional>
#include <numeric>

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
  return {total / 2, total - total / 2};  // the odd pixel goes after, as TensorFlow has it
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

}  // namespace sweetspot::model
