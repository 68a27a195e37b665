#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <variant>

#include "report/shown_study.h"

namespace sweetspot::report {

// monostate: unknown, which is null in JSON, empty in CSV and a dash in a table.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

nlohmann::ordered_json json(const Value& value);

enum class Show { never, always, when_it_varies, when_known };

// One field of a trial, declared once for every output format.
struct Field {
  const char* json;  // its place in a trial's object, as a JSON pointer
  const char* csv;   // its column, the unit in the name
  Value (*value)(const Row&);
  Show show = Show::never;  // in tables for users
  const char* title = "";
  bool left = false;
  std::string (*words)(const Row&) = nullptr;
};
std::span<const Field> fields();
// Its steps, and how often they were timed if several at once: "2,840 in 142 log lines".
std::string counted_words(const trial::Trial& trial);
// Why a trial failed, without the advice after the semicolon.
std::string short_reason(const std::string& note);
// Whether tables of these trials show it.
bool is_shown(const Field& field, const std::vector<Row>& list);

}  // namespace sweetspot::report
