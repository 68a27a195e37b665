#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "core/interval.h"

// Our values as JSON, for sources that write it by hand.
namespace nlohmann {

// Unknown is null, never 0.
template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(auto& json, const std::optional<T>& value) {
    if (value)
      json = *value;
    else
      json = nullptr;
  }
};

}  // namespace nlohmann

namespace sweetspot::core {

void to_json(auto& json, const Interval& value) {
  json = {{"mean", value.mean}, {"low", value.low}, {"high", value.high}};
}

// Empty text is unknown.
inline std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// Names come from untrusted files and may not be UTF-8.
std::string json_text(const auto& json, int indent = -1) {
  return json.dump(indent, ' ', false,
                   std::remove_cvref_t<decltype(json)>::error_handler_t::replace);
}

}  // namespace sweetspot::core
