#include "report/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_values.h"
#include "core/text.h"
#include "report/shown_study.h"
#include "stats/interval.h"

namespace sweetspot::report::compare {
namespace {

std::optional<core::Bytes> most_memory(const std::vector<const trial::Trial*>& trials) {
  std::optional<core::Bytes> most;
  for (const trial::Trial* trial : trials)
    if (trial->memory_measured) most = std::max(most.value_or(0), *trial->memory_measured);
  return most;
}

struct Known {
  std::map<std::int64_t, Point> points;
  std::optional<Measured> measured;
  bool repeated = false;
};

Known known_of(const trial::Study& stored) {
  const ShownStudy study = shown_study(stored);
  const std::vector<FastestAtBatch> all = speeds(study);
  Known made;
  for (const FastestAtBatch& speed : all) {
    made.points[speed.batch] = {speed.samples_per_second, most_memory(speed.trials),
                                speed.trials.size()};
    made.repeated = made.repeated || speed.trials.size() > 1;
  }
  made.measured = measured(study);
  return made;
}

std::optional<trial::Interval> over(const std::optional<trial::Interval>& b,
                                    const std::optional<trial::Interval>& a) {
  if (!a || !b) return std::nullopt;
  const auto found = stats::ratio({b->mean, b->low, b->high}, {a->mean, a->low, a->high});
  if (!found) return std::nullopt;
  return trial::Interval{found->mean, found->low, found->high};
}

std::optional<Verdict> judged(const std::optional<trial::Interval>& ratio) {
  if (!ratio) return std::nullopt;
  if (ratio->low > 1) return Verdict::faster;
  return ratio->high < 1 ? Verdict::slower : Verdict::no_difference;
}

Line line(std::int64_t batch, const Known& a, const Known& b) {
  Line made;
  made.batch = batch;
  if (const auto found = a.points.find(batch); found != a.points.end()) made.a = found->second;
  if (const auto found = b.points.find(batch); found != b.points.end()) made.b = found->second;
  made.speed_ratio = over(made.b.samples_per_second, made.a.samples_per_second);
  made.verdict = judged(made.speed_ratio);
  if (made.a.memory && made.b.memory && *made.a.memory > 0)
    made.memory_ratio = static_cast<double>(*made.b.memory) / static_cast<double>(*made.a.memory);
  return made;
}

std::optional<trial::Interval> best_of(const Known& known) {
  if (!known.measured) return std::nullopt;
  const auto best = known.points.find(known.measured->best_batch);
  return best == known.points.end() ? std::nullopt : best->second.samples_per_second;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::no_difference:
      return "no_difference";
  }
  return "";
}

std::string_view words(Verdict verdict) {
  return verdict == Verdict::no_difference ? "no difference shown" : name(verdict);
}

Comparison compare(const Side& a, const Side& b) {
  const Known of_a = known_of(a.study), of_b = known_of(b.study);
  Comparison made;
  made.a_name = a.name, made.b_name = b.name;
  std::map<std::int64_t, bool> batches;
  for (const Known* side : {&of_a, &of_b})
    for (const auto& [batch, point] : side->points) batches[batch] = true;
  for (const auto& [batch, there] : batches) made.lines.push_back(line(batch, of_a, of_b));
  made.a = of_a.measured, made.b = of_b.measured;
  made.best_ratio = over(best_of(of_b), best_of(of_a));
  made.verdict = judged(made.best_ratio);
  made.differences = differences(a.study, b.study);
  made.repeated = of_a.repeated && of_b.repeated;
  made.sentence = sentence(made);
  return made;
}

namespace {

std::string leaf(const nlohmann::json& value) {
  if (value.is_null()) return "";  // unknown, or not asked for
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return core::json_text(value);
  std::string list;
  for (const nlohmann::json& each : value) list += (list.empty() ? "" : ", ") + leaf(each);
  return list;
}

// "terms.limits.max" → its value as text; a list is one value.
void add_parts(const nlohmann::json& json, const std::string& path,
               std::map<std::string, std::string>& found) {
  for (const auto& [key, value] : json.items()) {
    const std::string below = path.empty() ? key : path + "." + key;
    if (value.is_object())
      add_parts(value, below, found);
    else
      found[below] = leaf(value);
  }
}

// Empty for text that is not JSON.
std::map<std::string, std::string> parts(const std::string& text) {
  std::map<std::string, std::string> found;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object()) add_parts(json, "", found);
  return found;
}

// The terms are most of the key: their name adds nothing.
std::string named(const std::string& path) {
  constexpr std::string_view terms = "terms.";
  return path.starts_with(terms) ? path.substr(terms.size()) : path;
}

// The values of the measured trials, such as "bf16, fp32".
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
  return path == "workload" || path == "terms.workload" || path == "terms.machine.cpu" ||
         path == "terms.machine.cores" || path == "terms.precision" || path == "terms.program" ||
         path == "terms.workers" || path == "terms.accumulations";
}

}  // namespace

std::vector<Difference> differences(const trial::Study& a, const trial::Study& b) {
  using trial::Trial;
  std::vector<Difference> found;
  const auto add = [&](const std::string& what, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) found.push_back({what, of_a, of_b});
  };
  const auto add_setting = [&](const trial::SettingField& field) {
    const auto value = [&](const Trial& t) { return trial::plain(field.of(t.setting)); };
    add(field.key, values(a, value), values(b, value));
  };
  add("workload", a.study_key.workload, b.study_key.workload);
  add("machine", a.environment.machine, b.environment.machine);
  add("program", a.environment.program, b.environment.program);
  const auto device = [](const Trial& t) { return t.device; };
  add("device", values(a, device), values(b, device));
  add_setting(trial::setting_field("accumulation"));
  for (const trial::SettingField& field : trial::setting_fields())
    if (field.is_of_configuration() && field.placeholder) add_setting(field);
  std::map<std::string, std::string> of_a = parts(a.study_key.json), of_b = parts(b.study_key.json);
  std::set<std::string> paths;
  for (const auto* side : {&of_a, &of_b})
    for (const auto& [path, value] : *side) paths.insert(path);
  for (const std::string& path : paths)
    if (!is_told_already(path)) add(named(path), of_a[path], of_b[path]);
  return found;
}

namespace {

std::string place(const Measured& found) {
  return fmt::format("{} samples/s at batch {}", core::format_count(found.best_samples_per_second),
                     core::format_count(static_cast<double>(found.best_batch)));
}

std::string best_sentence(const Comparison& c) {
  return fmt::format(
      "{}: where each is fastest B has {:.3g} times the speed of A (95% interval "
      "{:.3g} to {:.3g}), {} against {}.",
      verdict_words(c), c.best_ratio->mean, c.best_ratio->low, c.best_ratio->high, place(*c.b),
      place(*c.a));
}

}  // namespace

std::string verdict_words(const Comparison& c) {
  if (!c.a || !c.b)
    return fmt::format("Nothing was measured in {}, so the two cannot be compared",
                       !c.a && !c.b ? "either study"
                       : !c.a       ? "A"
                                    : "B");
  if (!c.verdict) return "The measurements are too uncertain to be compared";
  switch (*c.verdict) {
    case Verdict::faster:
      return "B is faster than A";
    case Verdict::slower:
      return "B is slower than A";
    case Verdict::no_difference:
      return "No difference between A and B is shown";
  }
  return "";
}

std::string batches_sentence(const Comparison& c) {
  if (!c.a || !c.b) return "";
  const auto with = [&](Verdict verdict) {
    return std::count_if(c.lines.begin(), c.lines.end(),
                         [&](const Line& line) { return line.verdict == verdict; });
  };
  const std::int64_t faster = with(Verdict::faster), slower = with(Verdict::slower),
                     same = with(Verdict::no_difference), shared = faster + slower + same;
  if (shared == 0) return "No batch was measured in both.";
  if (shared == 1)
    return fmt::format("At the one batch that both measured, B is {}.",
                       faster   ? "faster"
                       : slower ? "slower"
                                : "not shown to differ");
  return fmt::format(
      "Of {} batches that both measured, B is faster at {}, slower at {}, and at {} no difference "
      "is shown.",
      shared, faster, slower, same);
}

std::string sentence(const Comparison& c) {
  const std::string batches = batches_sentence(c);
  return (c.best_ratio ? best_sentence(c) : verdict_words(c) + ".") + (batches.empty() ? "" : " ") +
         batches;
}

std::string ratio_words(const trial::Interval& ratio) {
  return fmt::format("{:.3g} ({:.3g}–{:.3g})", ratio.mean, ratio.low, ratio.high);
}

}  // namespace sweetspot::report::compare
