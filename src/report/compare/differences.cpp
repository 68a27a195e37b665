#include "report/compare/differences.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace sweetspot::report::compare {
namespace {

using Json = nlohmann::json;

// "terms.limits.max" → its value as text; a text that is no JSON has no parts.
std::map<std::string, std::string> parts(const std::string& text) {
  std::map<std::string, std::string> found;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_structured()) return found;
  const Json flat = json.flatten();  // items() does not keep it alive
  for (const auto& [pointer, value] : flat.items()) {
    std::string path = pointer.substr(std::min<std::size_t>(1, pointer.size()));
    std::replace(path.begin(), path.end(), '/', '.');
    found[path] = value.is_string() ? value.get<std::string>()
                                    : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return found;
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
         path.starts_with("terms.workers.") || path.starts_with("terms.accumulations");
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
    if (!is_told_already(path)) add(path, of_a[path], of_b[path]);
  return found;
}

}  // namespace sweetspot::report::compare
