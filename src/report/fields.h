#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "report/shown_study.h"
#include "trial/setting_fields.h"

namespace sweetspot::report {

using trial::Value;  // unknown is null in JSON, empty in CSV and a dash in a table

nlohmann::ordered_json json(const Value& value);

enum class Show { never, always, when_it_varies, when_known };

// One field of a trial, declared once for every output format.
struct Field {
  std::string json;  // its place in a trial's object, as a JSON pointer
  std::string csv;   // its column, the unit in the name
  std::function<Value(const Row&)> value;
  Show show = Show::never;  // in tables for users
  const char* title = "";
  bool left = false;
  std::function<std::string(const Row&)> words{};
};
std::span<const Field> fields();
// Its steps, and how often they were timed if several at once: "2,840 in 142 log lines".
std::string counted_words(const trial::Trial& trial);
// Why a trial failed, without the advice after the semicolon.
std::string short_reason(const std::string& note);
// Whether tables of these trials show it.
bool is_shown(const Field& field, const std::vector<Row>& list);

}  // namespace sweetspot::report
