#include "model/keras/fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "model/keras/json.h"
#include "model/keras/unsupported.h"

namespace sweetspot::model::keras {

using nlohmann::json;

void refuse(const Place& place, std::string_view field, std::string_view why) {
  std::string where = place.source;
  if (!place.layer.empty()) where += fmt::format(": layer {}", place.layer);
  const std::string path = fmt::format("{}{}", place.path, field);
  if (!path.empty()) where += fmt::format("{} field '{}'", place.layer.empty() ? ":" : ",", path);
  throw core::InputError(core::printable(fmt::format("{}: {}", where, why)));
}

std::string shown(const json& value) {
  constexpr std::size_t longest = 40;
  std::string text = value.dump(-1, ' ', true);  // ASCII: truncation splits no character
  if (text.size() > longest) text.replace(longest - 3, std::string::npos, "...");
  return text;
}

Fields::Fields(const json& object, Place place) : object_(&object), place_(std::move(place)) {
  if (object.is_object()) return;
  std::string path = std::exchange(place_.path, "");
  if (!path.empty()) path.pop_back();
  keras::refuse(place_, path, fmt::format("{} is not an object", shown(object)));
}

void Fields::refuse(std::string_view field, std::string_view why) const {
  keras::refuse(place_, field, why);
}

const json* Fields::find(std::string_view field) {
  known_.emplace(field);
  const auto found = object_->find(field);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const json& Fields::need(std::string_view field) {
  if (const json* value = find(field)) return *value;
  refuse(field, "it is missing; write the file again with model.to_json()");
}

std::string Fields::need_text(std::string_view field) {
  const json& value = need(field);
  if (!value.is_string()) refuse(field, fmt::format("{} is not a text", shown(value)));
  return value.get<std::string>();
}

Fields Fields::need_object(std::string_view field) {
  Place inside = place_;
  inside.path += fmt::format("{}.", field);
  return Fields(need(field), inside);
}

std::int64_t Fields::as_size(std::string_view field, const json& value) const {
  if (value.is_number_unsigned()) {
    const auto size = value.get<std::uint64_t>();
    if (size >= 1 && size <= static_cast<std::uint64_t>(max_size))
      return static_cast<std::int64_t>(size);
  }
  refuse(field, fmt::format("{} is not a whole number from 1 to {}", shown(value), max_size));
}

std::int64_t Fields::need_size(std::string_view field) { return as_size(field, need(field)); }

std::optional<double> Fields::number(std::string_view field, double low, double high) {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_number()) refuse(field, fmt::format("{} is not a number", shown(*value)));
  const auto number = value->get<double>();
  if (number < low || number > high)
    refuse(field, fmt::format("{} is not between {} and {}", shown(*value), low, high));
  return number;
}

bool Fields::flag(std::string_view field, bool otherwise) {
  const json* value = find(field);
  if (!value) return otherwise;
  if (!value->is_boolean())
    refuse(field, fmt::format("{} is neither true nor false", shown(*value)));
  return value->get<bool>();
}

std::optional<Window> Fields::window(std::string_view field) {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_array()) {
    const std::int64_t side = as_size(field, *value);
    return Window{side, side};
  }
  if (value->size() != 2)
    refuse(field, fmt::format("{} is not a height and a width", shown(*value)));
  return Window{as_size(field, (*value)[0]), as_size(field, (*value)[1])};
}

std::optional<std::int64_t> Fields::length(std::string_view field) {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (value->is_array() && value->size() == 1) return as_size(field, value->front());
  return as_size(field, *value);
}

std::vector<std::int64_t> Fields::counts(std::string_view field) {
  std::vector<std::int64_t> all;
  const auto add = [&](const json& value, const auto& self) -> void {
    if (value.is_array()) {
      for (const json& item : value) self(item, self);
    } else if (value.is_number_unsigned() &&
               value.get<std::uint64_t>() <= static_cast<std::uint64_t>(max_size)) {
      all.push_back(value.get<std::int64_t>());
    } else {
      refuse(field, fmt::format("{} is not a whole number from 0 to {}", shown(value), max_size));
    }
  };
  if (const json* value = find(field)) add(*value, add);
  return all;
}

std::string Fields::word(std::string_view field, std::string_view otherwise) {
  return find(field) ? snake_case(need_text(field)) : std::string(otherwise);
}

// Errors for fields that support only one value, and for classes that are not Keras' own.

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
      refuse(field, fmt::format("{} is not supported; leave it out if it does not matter; {}",
                                shown(value), other_way()));
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
