#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/interval.h"
#include "core/units.h"

namespace sweetspot::advise {

// Answers as JSON, with each field declared once: a function of a form and a value names its
// fields, and is called with a JsonWriter to write them and with a JsonReader to read them. Both
// have the same interface. Unknown is null.
class JsonWriter {
 public:
  static constexpr bool reads = false;
  explicit JsonWriter(nlohmann::ordered_json& object) : json_(object) {}

  void field(const char* key, bool value);
  void field(const char* key, double value);
  void field(const char* key, int value);
  void field(const char* key, std::int64_t value);
  void field(const char* key, std::uint64_t value);
  void field(const char* key, std::string_view value);
  void field(const char* key, const core::Interval& value);
  void field(const char* key, const std::vector<std::string>& values);
  void field(const char* key, const std::vector<double>& values);
  void field(const char* key, const std::vector<std::int64_t>& values);
  template <class T>
  void field(const char* key, const std::optional<T>& value) {
    value ? field(key, *value) : null(key);
  }
  // A text that is null if it is empty.
  void text(const char* key, const std::string& value) {
    value.empty() ? null(key) : field(key, value);
  }
  // Derived from other fields: for users, and not read back.
  template <class Make>
  void derived(const char* key, const Make& make) {
    field(key, make());
  }
  // An enum value by its name; its names are those up to `last`.
  template <class Enum>
  void named(const char* key, Enum value, Enum) {
    field(key, std::string_view(name(value)));
  }
  template <class Enum>
  void named(const char* key, const std::optional<Enum>& value, Enum last) {
    value ? named(key, *value, last) : null(key);
  }
  // Fields that are grouped under a key.
  template <class Fields>
  void group(const char* key, const Fields& fields) {
    JsonWriter inner(object(key));
    fields(inner);
  }
  template <class T, class Fields>
  void object(const char* key, const std::optional<T>& value, const Fields& fields) {
    if (!value) return null(key);
    JsonWriter inner(object(key));
    fields(inner, *value);
  }
  template <class T, class Fields>
  void list(const char* key, const std::vector<T>& values, const Fields& fields) {
    nlohmann::ordered_json& all = array(key);
    for (const T& value : values) {
      JsonWriter inner(appended(all));
      fields(inner, value);
    }
  }

 private:
  void null(const char* key);
  nlohmann::ordered_json& object(const char* key);
  nlohmann::ordered_json& array(const char* key);
  static nlohmann::ordered_json& appended(nlohmann::ordered_json& array);

  nlohmann::ordered_json& json_;
};

// What a reader does without a field: reject the whole text, or keep the value.
enum class Missing { rejected, kept };

// Reads what was written this way. The text is untrusted: if anything has the wrong type, the whole
// text is rejected. Fields of later versions are ignored.
class JsonReader {
 public:
  static constexpr bool reads = true;
  explicit JsonReader(const nlohmann::ordered_json& object, Missing missing = Missing::rejected);
  bool ok() const { return ok_; }
  // Of what was read: false rejects all of it.
  bool require(bool holds) { return ok_ = ok_ && holds; }

  template <class T>
  void field(const char* key, T& value) {
    if (const auto* found = needed(key)) require(take(*found, value));
  }
  template <class T>
  void field(const char* key, std::optional<T>& value) {
    if (const auto* found = at(key)) require(take(*found, value.emplace()));
  }
  void text(const char* key, std::string& value) {
    if (at(key)) field(key, value);
  }
  template <class Make>
  void derived(const char*, const Make&) {}
  template <class Enum>
  void named(const char* key, Enum& value, Enum last) {
    if (const auto* found = needed(key)) require(take_name(*found, value, last));
  }
  template <class Enum>
  void named(const char* key, std::optional<Enum>& value, Enum last) {
    if (const auto* found = at(key)) require(take_name(*found, value.emplace(), last));
  }
  template <class Fields>
  void group(const char* key, const Fields& fields) {
    if (const auto* found = needed(key)) read(*found, fields);
  }
  template <class T, class Fields>
  void object(const char* key, std::optional<T>& value, const Fields& fields) {
    if (const auto* found = at(key))
      read(*found, [&](JsonReader& inner) { fields(inner, value.emplace(T{})); });
  }
  template <class T, class Fields>
  void list(const char* key, std::vector<T>& values, const Fields& fields) {
    for (const auto* each : elements(key))
      read(*each, [&](JsonReader& inner) { fields(inner, values.emplace_back()); });
  }

 private:
  template <class Fields>
  void read(const nlohmann::ordered_json& json, const Fields& fields) {
    JsonReader inner(json, missing_);
    if (inner.ok()) fields(inner);
    require(inner.ok());
  }
  const nlohmann::ordered_json* needed(const char* key);
  // nullptr if missing or null.
  const nlohmann::ordered_json* at(const char* key) const;
  std::vector<const nlohmann::ordered_json*> elements(const char* key);
  static bool take(const nlohmann::ordered_json& json, bool& value);
  static bool take(const nlohmann::ordered_json& json, double& value);
  static bool take(const nlohmann::ordered_json& json, int& value);
  static bool take(const nlohmann::ordered_json& json, std::int64_t& value);
  static bool take(const nlohmann::ordered_json& json, std::uint64_t& value);
  static bool take(const nlohmann::ordered_json& json, std::string& value);
  static bool take(const nlohmann::ordered_json& json, core::Interval& value);
  template <class T>
  static bool take(const nlohmann::ordered_json& json, std::vector<T>& values);
  template <class Enum>
  static bool take_name(const nlohmann::ordered_json& json, Enum& value, Enum last) {
    std::string text;
    if (!take(json, text)) return false;
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (value = static_cast<Enum>(i); name(value) == text) return true;
    return false;
  }

  const nlohmann::ordered_json& json_;
  Missing missing_;
  bool ok_ = true;
};

std::string written_json(const std::function<void(JsonWriter&)>& fields);
// Whether the text is an object that has the fields.
bool read_json(const std::string& text, const std::function<void(JsonReader&)>& fields,
               Missing missing = Missing::rejected);

}  // namespace sweetspot::advise
