#include "model/keras/initializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;
using Kind = Initializer::Kind;
using Mode = Initializer::Mode;
using Distribution = Initializer::Distribution;

constexpr double largest = 1e30;  // leaves room for a draw of some sigmas in a float

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

// "GlorotUniform", "glorot_uniform" and "glorotUniform" are one.
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

}  // namespace sweetspot::model::keras
