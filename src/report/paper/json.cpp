#include <nlohmann/json.hpp>

#include "report/epochs.h"
#include "report/formats.h"
#include "report/paper/experiment.h"
#include "report/paper/formats.h"

namespace sweetspot::report::paper {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& words) { return words.empty() ? Json(nullptr) : Json(words); }

Json device_json(const Device& device, const Experiment& experiment) {
  Answer answer;
  answer.trials = device.trials;
  std::vector<std::int64_t> epochs;
  for (std::int64_t i = 1; i <= experiment.epochs; ++i) epochs.push_back(i);
  const Json all = epoch_json(answer, epochs);
  const auto fixed = fixed_step_seconds(curve(device, experiment));
  return {{"device", device.name},
          {"hardware", device.hardware},
          {"study", device.study},
          {"step_fixed_seconds",
           fixed ? Json{{"mean", fixed->mean}, {"low", fixed->low}, {"high", fixed->high}}
                 : Json(nullptr)},
          {"cells", all["cells"]},
          {"end_points", all["end_points"]},
          {"trials", all["trials"]}};
}

}  // namespace

Json json(const Experiment& experiment, const std::vector<Claim>& claims) {
  Json result{{"schema_version", schema_version},
              {"status", experiment.status},
              {"message", or_null(experiment.message)},
              {"workload", experiment.workload},
              {"quick", experiment.quick}};
  result["claims"] = Json::array();
  for (const Claim& claim : claims)
    result["claims"].push_back({{"id", claim.id},
                                {"says", claim.says},
                                {"source", claim.source},
                                {"verdict", name(claim.verdict)},
                                {"evidence", claim.evidence},
                                {"overhead", or_null(claim.overhead)}});
  result["devices"] = Json::array();
  for (const Device& device : experiment.devices)
    result["devices"].push_back(device_json(device, experiment));
  result["no_gpu"] = or_null(experiment.no_gpu);
  result["method"] = method(experiment);
  result["cost"] = {{"seconds", experiment.seconds}, {"resumed_trials", experiment.resumed}};
  result["environment"] = Json::parse(experiment.environment_json, nullptr, false);
  if (result["environment"].is_discarded()) result["environment"] = Json::object();
  return result;
}

}  // namespace sweetspot::report::paper
