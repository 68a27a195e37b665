#include "model/keras/regularizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/keras/json.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

constexpr double usual_penalty = 0.01;  // of a regularizer that is given by its name
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
