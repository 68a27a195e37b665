#include "store/trial_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/trial_fields.h"

namespace sweetspot::store {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;
template <class T>
concept Numbers = requires(T value) {
  numbers_of(value);
};
template <class T>
constexpr bool may_be_absent = is_optional<T> || is_list<T> || std::is_same_v<T, std::string>;

template <class T>
bool is_nothing(const T& value) {
  if constexpr (is_optional<T>)
    return !value;
  else if constexpr (is_list<T> || std::is_same_v<T, std::string>)
    return value.empty();
  else
    return false;
}

template <class T>
Json written(const T& value) {
  if constexpr (is_optional<T>) {
    return written(*value);
  } else if constexpr (is_list<T>) {
    Json list = Json::array();
    for (const auto& each : value) list.push_back(written(each));
    return list;
  } else if constexpr (Numbers<T>) {
    return std::apply([](const auto&... each) { return Json::array({written(each)...}); },
                      numbers_of(value));
  } else if constexpr (std::is_enum_v<T>) {
    return name(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? Json(value)
                                : Json(fmt::format("{}", value));  // JSON has no "inf"
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    Json object = Json::object();
    each_field(value, [&](std::string_view name, const auto& field) {
      if (!is_nothing(field)) object.emplace(name, written(field));
    });
    return object;
  }
}

std::string text_of(const auto& value) {
  return written(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

auto named(std::string_view name, trial::Outcome) { return trial::outcome_named(name); }
auto named(std::string_view name, trial::StopReason) { return trial::stop_reason_named(name); }

bool take_real(const Json& json, double& value) {
  if (json.is_number()) return json.get_to(value), true;
  const auto* text = json.get_ptr<const std::string*>();
  if (!text || (*text != "nan" && *text != "inf" && *text != "-inf")) return false;
  value = *text == "nan" ? NAN : *text == "inf" ? INFINITY : -INFINITY;
  return true;
}

template <class T>
bool take_whole(const Json& json, T& value) {
  const auto fits = [&](auto number) {
    return std::in_range<T>(number) && (value = static_cast<T>(number), true);
  };
  if (json.is_number_unsigned()) return fits(json.get<std::uint64_t>());
  return json.is_number_integer() && fits(json.get<std::int64_t>());
}

// False if the JSON is of another type; what does not fit stays as it was.
template <class T>
bool take(const Json& json, T& value) {
  if constexpr (is_optional<T>) {
    typename T::value_type known{};
    if (!take(json, known)) return false;
    value = std::move(known);
    return true;
  } else if constexpr (is_list<T>) {
    if (!json.is_array()) return false;
    for (const Json& each : json)
      if (!take(each, value.emplace_back())) value.pop_back();
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    const auto known = named(json.is_string() ? json.get_ref<const std::string&>() : "", value);
    value = known.value_or(value);
    return known.has_value();
  } else if constexpr (std::is_same_v<T, double>) {
    return take_real(json, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return json.is_boolean() && (json.get_to(value), true);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return take_whole(json, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return json.is_string() && (json.get_to(value), true);
  } else if constexpr (Numbers<T>) {
    return std::apply(
        [&](auto&... each) {
          std::size_t next = 0;
          return json.is_array() && json.size() == sizeof...(each) &&
                 (take(json[next++], each) && ...);
        },
        numbers_of(value));
  } else {
    bool all = json.is_object();
    if (all)
      each_field(value, [&]<class Field>(std::string_view name, Field& field) {
        const auto found = json.find(name);
        const bool taken = found != json.end() && take(*found, field);
        all = all && (taken || may_be_absent<Field>);
      });
    return all;
  }
}

bool eat(std::string_view& json, std::string_view what) {
  if (!json.starts_with(what)) return false;
  json.remove_prefix(what.size());
  return true;
}

// A text without escapes.
bool read_text(std::string_view& json, std::string_view& text) {
  if (!eat(json, "\"")) return false;
  text = json.substr(0, json.find_first_of("\"\\"));
  json.remove_prefix(text.size());
  return eat(json, "\"");
}

// What we have written, field by field in the same order, is read in one pass, several times as
// fast as by a parser of all JSON: listings have thousands of trials. False for anything else.
template <class T>
bool read(std::string_view& json, T& value) {
  char separator = '[';
  const auto list = [&](auto&... each) {
    return ((eat(json, {&separator, 1}) && (separator = ',', read(json, each))) && ...);
  };
  if constexpr (is_optional<T>) {
    return read(json, value.emplace());
  } else if constexpr (is_list<T>) {
    while (separator == '[' || json.starts_with(separator))
      if (!list(value.emplace_back())) return false;
    return eat(json, "]");
  } else if constexpr (Numbers<T>) {
    return std::apply(list, numbers_of(value)) && eat(json, "]");
  } else if constexpr (std::is_same_v<T, bool>) {
    value = json.starts_with('t');
    return eat(json, value ? "true" : "false");
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
    json.remove_prefix(static_cast<std::size_t>(end - json.data()));
    return error == std::errc();
  } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::string>) {
    std::string_view text;
    return read_text(json, text) && take(Json(text), value);
  } else {
    bool all = eat(json, "{");
    bool first = true;
    each_field(value, [&]<class Field>(std::string_view name, Field& field) {
      std::string_view rest = json;
      if ((first || eat(rest, ",")) && eat(rest, "\"") && eat(rest, name) && eat(rest, "\":")) {
        json = rest, first = false;
        all = all && read(json, field);
      } else {
        all = all && may_be_absent<Field>;
      }
    });
    return all && eat(json, "}");
  }
}

}  // namespace

std::string json_of(const trial::Setting& setting) { return text_of(setting); }

std::optional<trial::Setting> setting_of(std::string_view json) {
  trial::Setting setting;
  if (!take(Json::parse(json, nullptr, false), setting)) return std::nullopt;
  return setting;
}

std::string json_of(const trial::Trial& trial) { return text_of(trial); }

std::optional<trial::Trial> trial_of(std::string_view json) {
  std::optional<trial::Trial> trial(std::in_place);
  if (std::string_view rest = json; read(rest, *trial) && rest.empty()) return trial;
  const Json parsed = Json::parse(json, nullptr, false);
  trial.emplace();
  if (!parsed.is_object() || !parsed.contains("outcome") ||
      !take(parsed["outcome"], trial->outcome))
    return std::nullopt;
  take(parsed, *trial);
  return trial;
}

}  // namespace sweetspot::store
