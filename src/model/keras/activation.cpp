#include "model/keras/activation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

Activation by_name(const Fields& fields, std::string_view field, const json& value) {
  if (value == "linear") return Activation::linear;
  if (value == "relu") return Activation::relu;
  if (value == "softmax") return Activation::softmax;
  if (value == "sigmoid") return Activation::sigmoid;
  if (value == "tanh") return Activation::tanh;
  fields.refuse(
      field,
      fmt::format("{} is not supported; use linear, relu, softmax, sigmoid or tanh", shown(value)));
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
  const Activation function = class_name == "ReLU"      ? read_relu(config).function
                              : class_name == "Softmax" ? read_softmax(config, input).function
                                                        : by_name(layer, field, json(class_name));
  config.finish();
  return function;
}

Activate read_relu(Fields& config) {
  if (const json* limit = config.find("max_value"))
    config.refuse("max_value", fmt::format("{} is not supported, only null", shown(*limit)));
  config.only_number("negative_slope", 0);
  config.only_number("threshold", 0);
  return {Activation::relu};
}

Activate read_softmax(Fields& config, const Shape& input) {
  config.only_last_axis("axis", input);
  return {Activation::softmax};
}

}  // namespace sweetspot::model::keras
