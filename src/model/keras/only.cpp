// The refusals: fields that may hold but one value here, and classes that are not Keras' own.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

using nlohmann::json;

void Fields::only_number(std::string_view field, double value) {
  const json* given = find(field);
  if (given && (!given->is_number() || given->get<double>() != value))
    refuse(field, fmt::format("{} is not supported, only {}", shown(*given), value));
}

void Fields::only_off(std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields)
    if (flag(field, false)) refuse(field, "true is not supported, only false");
}

void Fields::only_last_axis(std::string_view field, const Shape& input) {
  const json* given = find(field);
  if (!given) return;
  const int last = input.vector ? 1 : input.sequence ? 2 : 3;  // axis 0 is the batch
  const json& axis = given->is_array() && given->size() == 1 ? given->front() : *given;
  if (axis != -1 && axis != last)
    refuse(field, fmt::format("{} is not supported, only the last axis (-1)", shown(*given)));
}

void Fields::ignore(std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) known_.emplace(field);
}

void Fields::finish() const {
  for (const auto& [field, value] : object_->items())
    if (!value.is_null() && !known_.contains(field))
      refuse(field, fmt::format("{} is not supported; leave it out", shown(value)));
}

ClassAndConfig class_and_config(Fields object) {
  std::string class_name = object.need_text("class_name");
  const json* registered = object.find("registered_name");
  if (registered && *registered != class_name)
    object.refuse("registered_name", fmt::format("{} is a class of its own; use Keras' own layers",
                                                 shown(*registered)));
  if (object.find("module")) {
    const std::string module = object.need_text("module");
    if (!module.starts_with("keras") && !module.starts_with("tf_keras") &&
        !module.starts_with("tensorflow") && module != "builtins")
      object.refuse("module", fmt::format("{} is not part of Keras; use Keras' own layers",
                                          shown(json(module))));
  }
  object.ignore({"name", "build_config", "shared_object_id"});
  Fields config = object.need_object("config");
  object.finish();
  return {std::move(class_name), std::move(config)};
}

void only_float32(Fields& fields, std::string_view field) {
  const json* dtype = fields.find(field);
  if (!dtype) return;
  if (dtype->is_object()) {
    Fields policy = class_and_config(fields.need_object(field)).config;
    return only_float32(policy, "name");
  }
  if (*dtype != "float32")
    fields.refuse(field, fmt::format("{} is not supported, only \"float32\"", shown(*dtype)));
}

}  // namespace sweetspot::model::keras
