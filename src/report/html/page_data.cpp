#include "report/html/page_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "report/charts/series.h"
#include "report/formats.h"
#include "report/html/html.h"
#include "report/markup.h"
#include "report/text/summary.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t largest_environment = 1 << 16;

Json phases_json(const std::optional<trial::PhaseSeconds>& shares) {
  if (!shares) return nullptr;
  Json json = Json::object();
  for (std::size_t i = 0; i < shares->size(); ++i)
    json[std::string(name(static_cast<trial::Phase>(i)))] = (*shares)[i];
  return json;
}

Json point_json(const SeriesPoint& point) {
  return {{"batch", point.batch},
          {"trials", point.trials},
          {"samples_per_second", point.samples_per_second},
          {"memory_predicted_bytes", point.memory_predicted},
          {"memory_measured_bytes", point.memory_measured},
          {"phase_shares", phases_json(point.phase_shares)},
          {"joules_per_sample", point.joules_per_sample}};
}

Json series_json(const Series& series) {
  Json json{{"name", series.name},
            {"points", Json::array()},
            {"step_cost", nullptr},
            {"epochs", Json::array()}};
  for (const SeriesPoint& point : series.points) json["points"].push_back(point_json(point));
  if (series.cost)
    json["step_cost"] = {{"fixed_seconds", series.cost->fixed_seconds},
                         {"per_sample_seconds", series.cost->per_sample_seconds}};
  for (const EpochPoint& at : series.epochs)
    json["epochs"].push_back({{"batch", at.batch},
                              {"epoch", at.epoch},
                              {"seeds", at.seeds},
                              {"test_accuracy", at.test_accuracy},
                              {"train_seconds", at.train_seconds}});
  return json;
}

Json table_json(const PageTable& table) {
  Json json{{"columns", Json::array()}, {"rows", Json::array()}};
  for (const PageTable::Column& column : table.columns)
    json["columns"].push_back({{"title", column.title}, {"left", column.left}});
  for (const PageTable::Line& line : table.lines) {
    Json keys = Json::array();
    for (const Value& key : line.keys) keys.push_back(report::json(key));
    json["rows"].push_back({{"cells", line.cells}, {"keys", std::move(keys)}});
  }
  return json;
}

// A column of readings; null without any.
template <class Read>
Json trace_column(const std::vector<trial::Reading>& trace, const Read& read) {
  std::vector<float> values;
  bool any = false;
  for (const trial::Reading& reading : trace) {
    const auto value = read(reading);
    any = any || value;
    values.push_back(value ? static_cast<float>(*value) : std::nanf(""));
  }
  return any ? Json(base64_floats(values)) : Json(nullptr);
}

Json trace_json(const std::vector<trial::Reading>& trace) {
  if (trace.empty()) return nullptr;
  using trial::Reading;
  return {{"at_seconds",
           trace_column(trace, [](const Reading& r) { return std::optional(r.at_seconds); })},
          {"utilisation_share",
           trace_column(trace, [](const Reading& r) { return r.utilisation_share; })},
          {"memory_bytes", trace_column(trace, [](const Reading& r) { return r.memory; })},
          {"power_watts", trace_column(trace, [](const Reading& r) { return r.power_watts; })}};
}

// What only a page shows of a trial, removed from the answer so that the rest is cheap to copy.
struct Heavy {
  Json steps, trace;
};
std::vector<Heavy> take_heavy(ShownStudy& study) {
  std::vector<Heavy> list;
  for (trial::Trial& t : study.trials) {
    list.push_back({page_steps(t), trace_json(t.trace)});
    t.raw = {}, t.trace = {};
  }
  return list;
}

// Every text and name below, from any source.
Json cleaned(const Json& json) {
  if (json.is_string()) return shown(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json clean = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items())
    if (json.is_array())
      clean.push_back(cleaned(value));
    else
      clean[shown(key)] = cleaned(value);
  return clean;
}

// The memory prediction before anything ran: rows of a batch and its bytes by category.
Json memory_by_use(const Json& environment) {
  const Json::json_pointer where("/facts/memory_by_use");
  Json rows = Json::array();
  if (!environment.contains(where) || !environment[where].is_array()) return rows;
  for (const Json& row : environment[where])
    if (row.is_object() && row.value("batch", Json()).is_number_integer() &&
        std::ranges::all_of(row, [](const Json& value) { return value.is_number(); }))
      rows.push_back(row);
  return rows;
}

// Our own sentences contain numbers.
void set_numbers(Json& data, const ShownStudy& study) {
  const std::string words = sentence(study);
  data["sentence"] = with_thin_spaces(shown(words));
  if (study.answer.message == words) data["message"] = nullptr;  // said already
  data["figures"] = Json::array();
  for (const Figure& figure : figures(study))
    data["figures"].push_back({{"name", figure.name}, {"value", shown(figure.value)}});
  if (data["recommendation"].is_null()) return;
  for (Json& reason : data["recommendation"]["reasons"])
    reason["text"] = with_thin_spaces(reason["text"].get_ref<const std::string&>());
}

}  // namespace

Json page_steps(const trial::Trial& trial) {
  if (trial.raw.empty()) return nullptr;
  std::vector<float> seconds;
  Json outliers = Json::array(), warm_up = Json::array();
  for (std::size_t i = 0; i < trial.raw.size(); ++i) {
    const trial::Step& step = trial.raw[i];
    seconds.push_back(static_cast<float>(
        step.seconds / static_cast<double>(std::max<std::int64_t>(1, step.updates))));
    if (step.outlier) outliers.push_back(i);
    if (!step.warm_up) continue;
    if (i == 0 || !trial.raw[i - 1].warm_up) warm_up.push_back({i, i});
    warm_up.back()[1] = i + 1;
  }
  return {{"seconds", base64_floats(seconds)},
          {"warm_up", std::move(warm_up)},
          {"outliers", std::move(outliers)}};
}

Json page_data(ShownStudy study) {
  std::vector<Heavy> heavy = take_heavy(study);
  if (study.environment_json.size() > largest_environment) study.environment_json = "{}";
  Json data = cleaned(json(study));
  set_numbers(data, study);
  data["program"] = shown(study.program), data["machine"] = shown(study.machine);
  data["started_at_unix_seconds"] = study.started_at > 0 ? Json(study.started_at) : Json(nullptr);
  data["running"] = nullptr;
  if (study.running)
    data["running"] = {{"batch", study.running->batch},
                       {"started_at_unix_seconds", study.running->started_at}};
  data["memory_by_use"] = memory_by_use(data["environment"]);
  data["environment"].erase("facts");
  data["series"] = Json::array();
  for (const Series& each : series(study)) data["series"].push_back(cleaned(series_json(each)));
  const PageTable table = page_table(study);
  data["table"] = table_json(table);
  for (std::size_t row = 0; row < table.lines.size(); ++row) {  // json() has the same order
    Json& trial = data["trials"][row];
    const std::size_t place = table.lines[row].trial;
    trial["id"] = study.trials[place].id;
    trial["trace"] = std::move(heavy[place].trace);
    trial["raw_steps"] = std::move(heavy[place].steps);
  }
  return data;
}

}  // namespace sweetspot::report
