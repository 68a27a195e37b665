#include "model/keras/layer_options.h"

#include <fmt/format.h>

#include <algorithm>
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

// The fields that a layer has and a function does not.
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
  // Keras 3 renamed alpha to negative_slope.
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

namespace {

using Kind = Initializer::Kind;
using Mode = Initializer::Mode;
using Distribution = Initializer::Distribution;

constexpr double largest = 1e30;  // leaves headroom for a draw of some sigmas in a float

Initializer scaled(double scale, Mode mode, Distribution distribution) {
  Initializer made;
  made.kind = Kind::variance_scaling;
  made.scale = scale;
  made.mode = mode;
  made.distribution = distribution;
  return made;
}

Initializer read_normal(Fields& config, Kind kind) {
  Initializer made;
  made.kind = kind;
  made.mean = config.number("mean", -largest, largest).value_or(0);
  made.stddev = config.number("stddev", 0, largest).value_or(0.05);
  return made;
}

Initializer read_uniform(Fields& config) {
  Initializer made;
  made.kind = Kind::random_uniform;
  made.low = config.number("minval", -largest, largest).value_or(-0.05);
  made.high = config.number("maxval", -largest, largest).value_or(0.05);
  if (made.low > made.high)
    config.refuse("minval", fmt::format("{} is above maxval {}", made.low, made.high));
  return made;
}

// A uniform draw between two equal bounds.
Initializer read_constant(Fields& config) {
  Initializer made;
  made.kind = Kind::random_uniform;
  made.low = made.high = config.number("value", -largest, largest).value_or(0);
  return made;
}

Initializer read_variance_scaling(Fields& config) {
  const std::string mode = config.word("mode", "fan_in");
  const std::string distribution = config.word("distribution", "truncated_normal");
  Initializer made = scaled(config.number("scale", 0, largest).value_or(1), Mode::fan_in,
                            Distribution::truncated_normal);
  if (mode == "fan_out")
    made.mode = Mode::fan_out;
  else if (mode == "fan_avg")
    made.mode = Mode::fan_avg;
  else if (mode != "fan_in")
    config.refuse("mode", fmt::format("'{}' is none of fan_in, fan_out and fan_avg", mode));
  if (distribution == "untruncated_normal")
    made.distribution = Distribution::normal;
  else if (distribution == "uniform")
    made.distribution = Distribution::uniform;
  else if (distribution != "truncated_normal" && distribution != "normal")  // Keras 2's older word
    config.refuse("distribution", fmt::format("'{}' is none of truncated_normal, "
                                              "untruncated_normal and uniform",
                                              distribution));
  return made;
}

// "GlorotUniform", "glorot_uniform" and "glorotUniform" are the same.
std::string plain(std::string name) {
  std::erase(name, '_');
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return name;
}

Initializer by_name(const std::string& given, Fields& config, const Place& place,
                    std::string_view field) {
  const std::string name = plain(given);
  if (name == "zeros") return zeros();
  if (name == "ones") return ones();
  if (name == "constant") return read_constant(config);
  if (name == "randomnormal") return read_normal(config, Kind::random_normal);
  if (name == "truncatednormal") return read_normal(config, Kind::truncated_normal);
  if (name == "randomuniform") return read_uniform(config);
  if (name == "variancescaling") return read_variance_scaling(config);
  if (name == "glorotuniform") return glorot_uniform();
  if (name == "glorotnormal") return scaled(1, Mode::fan_avg, Distribution::truncated_normal);
  if (name == "heuniform") return scaled(2, Mode::fan_in, Distribution::uniform);
  if (name == "henormal") return scaled(2, Mode::fan_in, Distribution::truncated_normal);
  if (name == "lecununiform") return scaled(1, Mode::fan_in, Distribution::uniform);
  if (name == "lecunnormal") return scaled(1, Mode::fan_in, Distribution::truncated_normal);
  refuse(
      place, field,
      fmt::format("{} is not supported; use Zeros, Ones, Constant, RandomNormal, "
                  "TruncatedNormal, RandomUniform, VarianceScaling or one of Glorot, He and Lecun",
                  shown(json(given))));
}

}  // namespace

Initializer glorot_uniform() { return scaled(1, Mode::fan_avg, Distribution::uniform); }

Initializer zeros() { return {}; }

Initializer ones() {
  Initializer made;
  made.kind = Kind::ones;
  return made;
}

Initializer read_initializer(Fields& layer, std::string_view field, const Initializer& otherwise) {
  const json* value = layer.find(field);
  if (!value) return otherwise;
  if (value->is_string()) {
    const json nothing = json::object();
    Fields config(nothing, layer.place());
    return by_name(value->get<std::string>(), config, layer.place(), field);
  }
  auto [class_name, config] = class_and_config(layer.need_object(field));
  const Initializer made = by_name(class_name, config, layer.place(), field);
  config.ignore({"seed"});
  only_float32(config, "dtype");
  config.finish();
  return made;
}

namespace {

constexpr double usual_penalty = 0.01;  // of a regularizer given by name
constexpr double most_penalty = 1e30;

[[noreturn]] void refuse_kind(const Fields& layer, std::string_view field,
                              const std::string& name) {
  layer.refuse(field, fmt::format("{} is not supported; use L1, L2 or L1L2", shown(json(name))));
}

}  // namespace

Regularizer read_regularizer(Fields& layer, std::string_view field) {
  const json* value = layer.find(field);
  if (!value) return {};
  if (value->is_string()) {
    const std::string name = snake_case(value->get<std::string>());
    if (name == "l1") return {usual_penalty, 0};
    if (name == "l2") return {0, usual_penalty};
    if (name == "l1_l2" || name == "l1l2") return {usual_penalty, usual_penalty};
    refuse_kind(layer, field, name);
  }
  auto [class_name, config] = class_and_config(layer.need_object(field));
  const std::string name = snake_case(class_name);
  if (name != "l1" && name != "l2" && name != "l1_l2" && name != "l1l2")
    refuse_kind(layer, field, class_name);
  const Regularizer made{config.number("l1", 0, most_penalty).value_or(0),
                         config.number("l2", 0, most_penalty).value_or(0)};
  config.finish();
  return made;
}

}  // namespace sweetspot::model::keras
