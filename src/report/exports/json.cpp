#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "report/fields.h"
#include "report/formats.h"
#include "report/speeds.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;

Json epoch_json(const trial::Epoch& epoch) {
  return {{"epoch", epoch.epoch},
          {"train_seconds", epoch.train_seconds},
          {"train_loss", epoch.train_loss},
          {"train_accuracy", epoch.train_accuracy},
          {"test_loss", epoch.test_loss},
          {"test_accuracy", epoch.test_accuracy},
          {"noise_scale_samples", epoch.noise_scale}};
}

Json evaluation_json(const trial::Evaluation& evaluation) {
  return {{"steps", evaluation.steps},
          {"samples", evaluation.samples},
          {"train_seconds", evaluation.train_seconds},
          {"test_loss", evaluation.test_loss},
          {"test_accuracy", evaluation.test_accuracy},
          {"noise_scale", evaluation.noise_scale}};
}

Json reading_json(const trial::Reading& reading) {
  return {{"at_seconds", reading.at_seconds},
          {"utilisation_share", reading.utilisation_share},
          {"memory_bytes", reading.memory},
          {"power_watts", reading.power_watts}};
}

Json gpu_json(const trial::GpuUse& gpu) {
  return {{"device", gpu.device},
          {"name", gpu.name},
          {"memory_peak_bytes", gpu.memory_peak},
          {"memory_free_bytes", gpu.memory_free},
          {"memory_source", gpu.memory_source},
          {"utilisation_share", gpu.utilisation_share},
          {"power_watts", gpu.power_watts},
          {"energy_joules", gpu.energy_joules},
          {"core_clock_mhz", gpu.core_clock_mhz}};
}

Json limits_json(const search::Limits& limits) {
  return {{"objective", name(limits.objective)},
          {"min_batch", limits.min},
          {"max_batch", limits.max},
          {"multiple_of", limits.multiple_of},
          {"tolerance_share", limits.tolerance},
          {"memory_bytes", limits.memory.limit}};
}

// The recommendation with the numbers of the trials that each of its rows is based on.
Json recommendation_json(Json made, const ShownStudy& study, const std::vector<Row>& trials) {
  for (Json& row : made["rows"]) row["trials"] = Json::array();
  for (const Row& each : trials)
    if (const advise::BatchRow* row = row_of(*each.trial, study))
      made["rows"][static_cast<std::size_t>(row - study.recommendation()->rows.data())]["trials"]
          .push_back(each.number);
  return made;
}

}  // namespace

Json json(const Value& value) {
  return std::visit(
      []<class T>(const T& known) -> Json {
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else
          return known;
      },
      value);
}

Json json(const Row& row) {
  Json trial = Json::object();
  for (const Field& field : fields())
    trial[Json::json_pointer(field.json)] = json(field.value(row));
  trial["epochs"] = Json::array();
  for (const trial::Epoch& epoch : row.trial->epochs) trial["epochs"].push_back(epoch_json(epoch));
  for (const trial::Evaluation& each : row.trial->evaluations)
    trial["evaluations"].push_back(evaluation_json(each));
  trial["gpus"] = Json::array();
  for (const trial::GpuUse& gpu : row.trial->gpus) trial["gpus"].push_back(gpu_json(gpu));
  for (const trial::Reading& reading : row.trial->trace)
    trial["trace"].push_back(reading_json(reading));
  return trial;
}

Json json(const ShownStudy& study) {
  const std::vector<Row> trials = rows(study);
  Json result{{"schema_version", schema_version},
              {"study", study.number},
              {"workload", study.workload},
              {"status", name(study.answer.end)},
              {"message", core::unless_empty(study.answer.message)},
              {"recommendation", nullptr},
              {"doubt", nullptr}};
  Json content = Json::parse(advise::to_json(study.answer)).value("content", Json());
  if (study.recommendation())
    result["recommendation"] = recommendation_json(std::move(content), study, trials);
  if (study.doubt()) result["doubt"] = std::move(content);
  if (study.to_target()) result["time_to_target"] = std::move(content);
  if (study.critical_batch()) result["critical_batch"] = std::move(content);
  const auto found = study.recommendation() ? std::nullopt : measured(study);
  result["measured"] = found ? Json{{"best_batch", found->best_batch},
                                    {"best_samples_per_second", found->best_samples_per_second},
                                    {"smallest_within_tolerance", found->knee_batch},
                                    {"smallest_samples_per_second", found->knee_samples_per_second}}
                             : Json(nullptr);
  result["trials"] = Json::array();
  for (const Row& row : trials) result["trials"].push_back(json(row));
  result["limits"] = limits_json(study.facts.limits);
  result["cost"] = {
      {"seconds", study.seconds},
      {"trials", study.trials.size() - study.resumed},
      {"resumed_trials", study.resumed},
      {"out_of_memory", std::count_if(study.trials.begin(), study.trials.end(), [](const auto& t) {
         return t.outcome == trial::Outcome::out_of_memory;
       })}};
  result["environment"] = Json::parse(study.environment_json, nullptr, false);
  if (result["environment"].is_discarded()) result["environment"] = Json::object();
  return result;
}

}  // namespace sweetspot::report
