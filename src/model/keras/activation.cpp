#include "model/keras/activation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/keras/json.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

constexpr double most_constant = 1e30;

Activation rectified(double slope, double threshold, std::optional<double> most) {
  if (slope == 0 && threshold == 0 && !most) return Activation::relu;
  Activation function(Activation::rectified, static_cast<float>(slope));
  function.threshold = static_cast<float>(threshold);
  if (most) function.most = static_cast<float>(*most);
  return function;
}

Activation by_name(const Fields& fields, std::string_view field, const json& value) {
  // TF.js has "hardSigmoid", and Keras 2 "leaky_relu" since 2.13.
  const std::string name = value.is_string() ? snake_case(value.get<std::string>()) : "";
  if (name == "linear") return Activation::linear;
  if (name == "relu") return Activation::relu;
  if (name == "relu6") return rectified(0, 0, 6);
  if (name == "leaky_relu") return rectified(0.2, 0, std::nullopt);
  if (name == "softmax") return Activation::softmax;
  if (name == "sigmoid") return Activation::sigmoid;
  if (name == "tanh") return Activation::tanh;
  if (name == "elu") return {Activation::elu, 1};
  if (name == "selu") return Activation::selu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new") return Activation::gelu_tanh;  // TF.js' word
  if (name == "swish" || name == "silu") return Activation::swish;
  if (name == "softplus") return Activation::softplus;
  if (name == "softsign") return Activation::softsign;
  if (name == "exponential") return Activation::exponential;
  if (name == "hard_sigmoid")
    return {Activation::hard_sigmoid, fields.place().keras3 ? 1.f / 6 : 0.2f};
  fields.refuse(field,
                fmt::format("{} is not supported; use linear, relu, relu6, leaky_relu, elu, selu, "
                            "gelu, swish, softplus, softsign, exponential, hard_sigmoid, sigmoid, "
                            "tanh or softmax",
                            shown(value)));
}

// The fields that a layer has and a function has not.
void ignore_layer_fields(Fields& config) {
  config.ignore({"name"});
  if (!config.flag("trainable", true)) config.refuse("trainable", "false is not supported");
  only_float32(config, "dtype");
}

}  // namespace

Activation read_activation(Fields& layer, std::string_view field, const Shape& input) {
  const json* value = layer.find(field);
  if (!value) return Activation::linear;
  if (!value->is_object()) return by_name(layer, field, *value);

  Fields object = layer.need_object(field);
  if (object.need_text("class_name") == "function") {
    object.ignore({"module", "registered_name"});
    const Activation function = by_name(object, "config", object.need("config"));
    object.finish();
    return function;
  }
  auto [class_name, config] = class_and_config(std::move(object));
  ignore_layer_fields(config);
  const std::optional<Activation> function = read_function_layer(class_name, config, input);
  if (!function) return by_name(layer, field, json(class_name));
  config.finish();
  return *function;
}

std::optional<Activation> read_function_layer(const std::string& class_name, Fields& config,
                                              const Shape& input) {
  const auto number = [&](std::string_view field, double otherwise) {
    return config.number(field, -most_constant, most_constant).value_or(otherwise);
  };
  if (class_name == "ReLU") {
    const std::optional<double> most = config.number("max_value", 0, most_constant);
    return rectified(number("negative_slope", 0), number("threshold", 0), most);
  }
  // Keras 3 calls it negative_slope, what was alpha.
  if (class_name == "LeakyReLU")
    return rectified(number("negative_slope", number("alpha", 0.3)), 0, std::nullopt);
  if (class_name == "ThresholdedReLU") return rectified(0, number("theta", 1), std::nullopt);
  if (class_name == "ELU")
    return Activation(Activation::elu, static_cast<float>(number("alpha", 1)));
  if (class_name == "Softmax") {
    config.only_last_axis("axis", input);
    return Activation::softmax;
  }
  return std::nullopt;
}

}  // namespace sweetspot::model::keras
