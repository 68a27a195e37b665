#include "advise/json_form.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "core/json_values.h"

namespace sweetspot::advise {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto interval_fields = [](auto& form, auto& interval) {
  form.field("mean", interval.mean);
  form.field("low", interval.low);
  form.field("high", interval.high);
};

}  // namespace

void JsonWriter::null(const char* key) { json_[key] = nullptr; }
void JsonWriter::field(const char* key, bool value) { json_[key] = value; }
void JsonWriter::field(const char* key, double value) { json_[key] = value; }
void JsonWriter::field(const char* key, int value) { json_[key] = value; }
void JsonWriter::field(const char* key, std::int64_t value) { json_[key] = value; }
void JsonWriter::field(const char* key, std::uint64_t value) { json_[key] = value; }
void JsonWriter::field(const char* key, std::string_view value) { json_[key] = value; }
void JsonWriter::field(const char* key, const core::Interval& value) {
  JsonWriter inner(object(key));
  interval_fields(inner, value);
}
void JsonWriter::field(const char* key, const std::vector<std::string>& values) {
  json_[key] = values;
}
void JsonWriter::field(const char* key, const std::vector<double>& values) { json_[key] = values; }
void JsonWriter::field(const char* key, const std::vector<std::int64_t>& values) {
  json_[key] = values;
}

Json& JsonWriter::object(const char* key) { return json_[key] = Json::object(); }
Json& JsonWriter::array(const char* key) { return json_[key] = Json::array(); }
Json& JsonWriter::appended(Json& array) {
  array.push_back(Json::object());
  return array.back();
}

JsonReader::JsonReader(const Json& object, Missing missing)
    : json_(object), missing_(missing), ok_(object.is_object()) {}

const Json* JsonReader::at(const char* key) const {
  const auto found = ok_ ? json_.find(key) : json_.end();
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const Json* JsonReader::needed(const char* key) {
  const Json* found = at(key);
  require(found || missing_ == Missing::kept);
  return found;
}

std::vector<const Json*> JsonReader::elements(const char* key) {
  const Json* found = needed(key);
  std::vector<const Json*> all;
  if (found && require(found->is_array()))
    for (const Json& each : *found) all.push_back(&each);
  return all;
}

bool JsonReader::take(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}

bool JsonReader::take(const Json& json, double& value) {
  constexpr double most = 1e18;  // of anything that is counted here, seconds to bytes
  if (!json.is_number()) return false;
  value = json.get<double>();
  return value >= 0 && value <= most;
}

bool JsonReader::take(const Json& json, std::uint64_t& value) {
  if (!json.is_number_unsigned()) return false;
  value = json.get<std::uint64_t>();
  return true;
}

// Sizes and counts: none is negative.
bool JsonReader::take(const Json& json, std::int64_t& value) {
  std::uint64_t whole = 0;
  if (!take(json, whole) || whole > std::numeric_limits<std::int64_t>::max()) return false;
  value = static_cast<std::int64_t>(whole);
  return true;
}

bool JsonReader::take(const Json& json, int& value) {
  std::uint64_t whole = 0;
  if (!take(json, whole) || whole > std::numeric_limits<int>::max()) return false;
  value = static_cast<int>(whole);
  return true;
}

bool JsonReader::take(const Json& json, std::string& value) {
  if (!json.is_string()) return false;
  value = json.get<std::string>();
  return true;
}

bool JsonReader::take(const Json& json, core::Interval& value) {
  JsonReader inner(json);
  interval_fields(inner, value);
  return inner.ok();
}

template <class T>
bool JsonReader::take(const Json& json, std::vector<T>& values) {
  if (!json.is_array()) return false;
  for (const Json& each : json)
    if (!take(each, values.emplace_back())) return false;
  return true;
}
template bool JsonReader::take(const Json& json, std::vector<std::string>& values);
template bool JsonReader::take(const Json& json, std::vector<double>& values);
template bool JsonReader::take(const Json& json, std::vector<std::int64_t>& values);

std::string written_json(const std::function<void(JsonWriter&)>& fields) {
  Json json = Json::object();
  JsonWriter form(json);
  fields(form);
  return core::json_text(json);
}

bool read_json(const std::string& text, const std::function<void(JsonReader&)>& fields,
               Missing missing) {
  const Json json = Json::parse(text, nullptr, false);
  JsonReader form(json, missing);
  if (form.ok()) fields(form);
  return form.ok();
}

}  // namespace sweetspot::advise
