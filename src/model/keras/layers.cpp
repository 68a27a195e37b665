#include "model/keras/layers.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "model/keras/activation.h"
#include "model/keras/initializer.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

Padding read_padding(Fields& config) {
  const std::string padding = config.word("padding", "valid");
  if (padding == "valid") return Padding::valid;
  if (padding == "same") return Padding::same;
  config.refuse("padding", fmt::format("{} is neither valid nor same", shown(json(padding))));
}

void only_channels_last(Fields& config) {
  const std::string format = config.word("data_format", "channels_last");
  if (format != "channels_last")
    config.refuse("data_format",
                  fmt::format("{} is not supported, only \"channels_last\"", shown(json(format))));
}

LayerKind read_conv(Fields& config, const Shape& input) {
  Conv2D conv;
  conv.filters = config.need_size("filters");
  config.need("kernel_size");
  conv.kernel = *config.window("kernel_size");
  conv.strides = config.window("strides").value_or(Window{1, 1});
  conv.padding = read_padding(config);
  conv.activation = read_activation(config, "activation", input);
  conv.use_bias = config.flag("use_bias", true);
  conv.kernel_initializer = read_initializer(config, "kernel_initializer", glorot_uniform());
  conv.bias_initializer = read_initializer(config, "bias_initializer", zeros());
  only_channels_last(config);
  config.only_number("groups", 1);
  if (config.window("dilation_rate").value_or(Window{1, 1}) != Window{1, 1})
    config.refuse("dilation_rate",
                  fmt::format("{} is not supported, only 1", shown(config.need("dilation_rate"))));
  return conv;
}

LayerKind read_pooling(Fields& config, Pooling2D::Kind kind) {
  Pooling2D pooling;
  pooling.kind = kind;
  pooling.size = config.window("pool_size").value_or(Window{2, 2});
  pooling.strides = config.window("strides").value_or(pooling.size);
  pooling.padding = read_padding(config);
  only_channels_last(config);
  return pooling;
}

LayerKind read_max_pooling(Fields& config, const Shape&) {
  return read_pooling(config, Pooling2D::Kind::max);
}

LayerKind read_average_pooling(Fields& config, const Shape&) {
  return read_pooling(config, Pooling2D::Kind::average);
}

LayerKind read_global_average_pooling(Fields& config, const Shape&) {
  only_channels_last(config);
  config.only_off({"keepdims"});
  return GlobalAveragePooling2D{};
}

LayerKind read_flatten(Fields& config, const Shape&) {
  only_channels_last(config);
  return Flatten{};
}

LayerKind read_dense(Fields& config, const Shape& input) {
  Dense dense;
  dense.units = config.need_size("units");
  dense.activation = read_activation(config, "activation", input);
  dense.use_bias = config.flag("use_bias", true);
  dense.kernel_initializer = read_initializer(config, "kernel_initializer", glorot_uniform());
  dense.bias_initializer = read_initializer(config, "bias_initializer", zeros());
  return dense;
}

LayerKind read_dropout(Fields& config, const Shape&) {
  config.need("rate");
  config.ignore({"seed"});  // masks come from the run's own seed
  const double rate = *config.number("rate", 0, 1);
  if (rate == 1) config.refuse("rate", "1 would drop everything; use a rate below 1");
  return Dropout{rate};
}

LayerKind read_activation_layer(Fields& config, const Shape& input) {
  config.need("activation");
  return Activate{read_activation(config, "activation", input)};
}

LayerKind read_batch_normalization(Fields& config, const Shape& input) {
  BatchNormalization norm;
  config.only_last_axis("axis", input);
  norm.momentum = config.number("momentum", 0, 1).value_or(0.99);
  norm.epsilon = config.number("epsilon", 0, 1).value_or(1e-3);
  norm.center = config.flag("center", true);
  norm.scale = config.flag("scale", true);
  norm.beta_initializer = read_initializer(config, "beta_initializer", zeros());
  norm.gamma_initializer = read_initializer(config, "gamma_initializer", ones());
  norm.moving_mean_initializer = read_initializer(config, "moving_mean_initializer", zeros());
  norm.moving_variance_initializer =
      read_initializer(config, "moving_variance_initializer", ones());
  config.only_off({"synchronized", "renorm"});
  config.ignore({"renorm_clipping", "renorm_momentum", "fused"});  // unused, or the same arithmetic
  return norm;
}

struct Reader {
  std::string_view class_name;
  LayerKind (*read)(Fields&, const Shape&);
};
constexpr std::array readers{
    Reader{"Conv2D", read_conv},
    Reader{"MaxPooling2D", read_max_pooling},
    Reader{"AveragePooling2D", read_average_pooling},
    Reader{"GlobalAveragePooling2D", read_global_average_pooling},
    Reader{"Flatten", read_flatten},
    Reader{"Dense", read_dense},
    Reader{"Dropout", read_dropout},
    Reader{"Activation", read_activation_layer},
    Reader{"ReLU", [](Fields& c, const Shape&) -> LayerKind { return read_relu(c); }},
    Reader{"Softmax", [](Fields& c, const Shape& s) -> LayerKind { return read_softmax(c, s); }},
    Reader{"BatchNormalization", read_batch_normalization},
};

}  // namespace

LayerKind read_layer(const std::string& class_name, Fields& config, const Shape& input) {
  std::string known = "InputLayer";
  for (const Reader& reader : readers) {
    if (reader.class_name == class_name) return reader.read(config, input);
    known += fmt::format(", {}", reader.class_name);
  }
  Place place = config.place();
  place.path.clear();
  refuse(place, "class_name",
         fmt::format("{} is not supported; use one of {}", shown(json(class_name)), known));
}

}  // namespace sweetspot::model::keras
