#include <nlohmann/json.hpp>

#include "report/compare/formats.h"

namespace sweetspot::report::compare {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json interval_json(const std::optional<trial::Interval>& interval) {
  if (!interval) return nullptr;
  return {{"mean", interval->mean}, {"low", interval->low}, {"high", interval->high}};
}

Json verdict_json(const std::optional<Verdict>& verdict) {
  return verdict ? Json(name(*verdict)) : Json(nullptr);
}

Json point_json(const Point& point) {
  return {{"samples_per_second", interval_json(point.samples_per_second)},
          {"memory_bytes", or_null(point.memory)},
          {"trials", point.trials}};
}

Json side_json(const std::string& name, const std::optional<Measured>& found) {
  Json side{{"name", name}};
  side["best_batch"] = found ? Json(found->best_batch) : Json(nullptr);
  side["best_samples_per_second"] = found ? Json(found->best_samples_per_second) : Json(nullptr);
  side["knee_batch"] = found ? Json(found->knee_batch) : Json(nullptr);
  side["knee_samples_per_second"] = found ? Json(found->knee_samples_per_second) : Json(nullptr);
  return side;
}

}  // namespace

Json json(const Comparison& c) {
  Json result{{"schema_version", schema_version},
              {"a", side_json(c.a_name, c.a)},
              {"b", side_json(c.b_name, c.b)},
              {"verdict", verdict_json(c.verdict)},
              {"sentence", c.sentence},
              {"best_samples_per_second_ratio", interval_json(c.best_ratio)},
              {"repeated", c.repeated}};
  result["batches"] = Json::array();
  for (const Line& line : c.lines)
    result["batches"].push_back({{"batch", line.batch},
                                 {"a", point_json(line.a)},
                                 {"b", point_json(line.b)},
                                 {"samples_per_second_ratio", interval_json(line.speed_ratio)},
                                 {"memory_ratio", or_null(line.memory_ratio)},
                                 {"verdict", verdict_json(line.verdict)}});
  result["differences"] = Json::array();
  for (const Difference& each : c.differences)
    result["differences"].push_back({{"what", each.what}, {"a", each.a}, {"b", each.b}});
  return result;
}

}  // namespace sweetspot::report::compare
