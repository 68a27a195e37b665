#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/fields.h"
#include "report/formats.h"
#include "report/speeds.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json epoch_json(const trial::Epoch& epoch) {
  return {{"epoch", epoch.epoch},
          {"train_seconds", epoch.train_seconds},
          {"train_loss", or_null(epoch.train_loss)},
          {"train_accuracy", or_null(epoch.train_accuracy)},
          {"test_loss", or_null(epoch.test_loss)},
          {"test_accuracy", or_null(epoch.test_accuracy)},
          {"noise_scale_samples", or_null(epoch.noise_scale)}};
}

Json evaluation_json(const trial::Evaluation& evaluation) {
  return {{"steps", evaluation.steps},
          {"samples", evaluation.samples},
          {"train_seconds", evaluation.train_seconds},
          {"test_loss", or_null(evaluation.test_loss)},
          {"test_accuracy", or_null(evaluation.test_accuracy)},
          {"noise_scale", or_null(evaluation.noise_scale)}};
}

Json reading_json(const trial::Reading& reading) {
  return {{"at_seconds", reading.at_seconds},
          {"utilisation_share", or_null(reading.utilisation_share)},
          {"memory_bytes", or_null(reading.memory)},
          {"power_watts", or_null(reading.power_watts)}};
}

Json gpu_json(const trial::GpuUse& gpu) {
  return {{"device", gpu.device},
          {"name", gpu.name},
          {"memory_peak_bytes", or_null(gpu.memory_peak)},
          {"memory_free_bytes", or_null(gpu.memory_free)},
          {"memory_source", gpu.memory_source},
          {"utilisation_share", or_null(gpu.utilisation_share)},
          {"power_watts", or_null(gpu.power_watts)},
          {"energy_joules", or_null(gpu.energy_joules)},
          {"core_clock_mhz", or_null(gpu.core_clock_mhz)}};
}

Json limits_json(const search::Limits& limits) {
  return {{"objective", name(limits.objective)},
          {"min_batch", limits.min},
          {"max_batch", limits.max},
          {"multiple_of", limits.multiple_of},
          {"tolerance_share", limits.tolerance},
          {"memory_bytes", or_null(limits.memory.limit)}};
}

Json content_json(const auto& made) { return Json::parse(advise::to_json({made}))["content"]; }

// The recommendation with the numbers of the trials that each of its rows is based on.
Json recommendation_json(const Answer& answer, const std::vector<Row>& trials) {
  if (!answer.recommendation) return nullptr;
  Json made = content_json(*answer.recommendation);
  for (Json& row : made["rows"]) row["trials"] = Json::array();
  for (const Row& each : trials)
    if (const advise::BatchRow* row = row_of(*each.trial, answer))
      made["rows"][static_cast<std::size_t>(row - answer.recommendation->rows.data())]["trials"]
          .push_back(each.number);
  return made;
}

}  // namespace

Json json(const Row& row) {
  Json trial = Json::object();
  for (const Field& field : fields())
    trial[Json::json_pointer(field.json)] = std::visit(ToJson{}, field.value(row));
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

Json json(const Answer& answer) {
  const std::vector<Row> trials = rows(answer);
  Json result{{"schema_version", schema_version},
              {"study", answer.study},
              {"workload", answer.workload},
              {"status", answer.status},
              {"message", answer.message.empty() ? Json(nullptr) : Json(answer.message)},
              {"recommendation", recommendation_json(answer, trials)}};
  result["doubt"] = answer.doubt ? content_json(*answer.doubt) : Json(nullptr);
  if (answer.to_target) result["time_to_target"] = content_json(*answer.to_target);
  const auto found = answer.recommendation ? std::nullopt : measured(answer);
  result["measured"] = found ? Json{{"best_batch", found->best_batch},
                                    {"best_samples_per_second", found->best_samples_per_second},
                                    {"smallest_within_tolerance", found->knee_batch},
                                    {"smallest_samples_per_second", found->knee_samples_per_second}}
                             : Json(nullptr);
  result["trials"] = Json::array();
  for (const Row& row : trials) result["trials"].push_back(json(row));
  result["limits"] = limits_json(answer.facts.limits);
  result["cost"] = {{"seconds", answer.seconds},
                    {"trials", answer.trials.size() - answer.resumed},
                    {"resumed_trials", answer.resumed},
                    {"out_of_memory",
                     std::count_if(answer.trials.begin(), answer.trials.end(), [](const auto& t) {
                       return t.outcome == trial::Outcome::out_of_memory;
                     })}};
  result["environment"] = Json::parse(answer.environment_json, nullptr, false);
  if (result["environment"].is_discarded()) result["environment"] = Json::object();
  return result;
}

}  // namespace sweetspot::report
