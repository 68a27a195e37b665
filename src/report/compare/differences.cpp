#include "report/compare/differences.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace sweetspot::report::compare {
namespace {

using Json = nlohmann::json;

std::string leaf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string list;
  for (const Json& each : value) list += (list.empty() ? "" : ", ") + leaf(each);
  return list;
}

// "terms.limits.max" → its value as text; a list is one value.
void add_parts(const Json& json, const std::string& path,
               std::map<std::string, std::string>& found) {
  for (const auto& [key, value] : json.items()) {
    const std::string below = path.empty() ? key : path + "." + key;
    if (value.is_object())
      add_parts(value, below, found);
    else
      found[below] = leaf(value);
  }
}

// Of a text that is no JSON, nothing.
std::map<std::string, std::string> parts(const std::string& text) {
  std::map<std::string, std::string> found;
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) add_parts(json, "", found);
  return found;
}

// The terms are most of the question: their name says nothing.
std::string named(const std::string& path) {
  constexpr std::string_view terms = "terms.";
  return path.starts_with(terms) ? path.substr(terms.size()) : path;
}

// The values that the measured trials had, such as "bf16, fp32".
std::string values(const trial::Study& study,
                   const std::function<std::string(const trial::Trial&)>& value) {
  std::set<std::string> all;
  for (const trial::Trial& trial : study.trials)
    if (trial.samples_per_second) all.insert(value(trial));
  std::string text;
  for (const std::string& each : all) text += (text.empty() ? "" : ", ") + each;
  return text;
}

bool is_told_already(const std::string& path) {
  return path == "terms.machine.cpu" || path == "terms.machine.cores" ||
         path == "terms.precision" || path == "terms.program" || path == "terms.workers" ||
         path == "terms.accumulations";
}

}  // namespace

std::vector<Difference> differences(const trial::Study& a, const trial::Study& b) {
  std::vector<Difference> found;
  const auto add = [&](const std::string& what, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) found.push_back({what, of_a, of_b});
  };
  const auto add_setting = [&](const std::string& what, const auto& value) {
    add(what, values(a, value), values(b, value));
  };
  using trial::Trial;
  add("workload", a.question.workload, b.question.workload);
  add("machine", a.environment.machine, b.environment.machine);
  add("program", a.environment.program, b.environment.program);
  add_setting("device", [](const Trial& t) { return t.device; });
  add_setting("precision", [](const Trial& t) { return t.setting.precision; });
  add_setting("accumulation",
              [](const Trial& t) { return std::to_string(t.setting.accumulation); });
  add_setting("workers", [](const Trial& t) { return std::to_string(t.setting.workers); });
  std::map<std::string, std::string> of_a = parts(a.question.key), of_b = parts(b.question.key);
  std::set<std::string> paths;
  for (const auto* side : {&of_a, &of_b})
    for (const auto& [path, value] : *side) paths.insert(path);
  for (const std::string& path : paths)
    if (!is_told_already(path)) add(named(path), of_a[path], of_b[path]);
  return found;
}

}  // namespace sweetspot::report::compare
