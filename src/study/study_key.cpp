#include "study/study_key.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "probe/proc/host.h"
#include "workload/native/options.h"

namespace sweetspot::study {
namespace {

using Json = nlohmann::json;  // its keys are sorted: one text per key

Json limits_json(const search::Limits& limits) {
  return {{"objective", name(limits.objective)},
          {"min", limits.min},
          {"max", limits.max},
          {"multiple_of", limits.multiple_of},
          {"tolerance", limits.tolerance},
          {"divisor_of", limits.divisor_of ? Json(*limits.divisor_of) : Json(nullptr)},
          {"memory_limit", limits.memory.limit ? Json(*limits.memory.limit) : Json(nullptr)}};
}

Json machine_json(int threads) {
  return {{"cpu", probe::proc::cpu().model.value_or("")},
          {"cores", probe::proc::usable_cores()},
          {"isa", workload::native::cpu_instruction_set()},
          {"threads", threads}};
}

Json terms_json(const Terms& terms) {
  Json json{{"kind", terms.kind},
            {"limits", limits_json(terms.limits)},
            {"memory_share", terms.memory_share ? Json(*terms.memory_share) : Json(nullptr)},
            {"precision", terms.precision},
            {"batches", terms.batches},
            {"accumulations", terms.accumulations},
            {"workers", terms.workers},
            {"repeat", terms.repeat},
            {"program", terms.program_major},
            {"machine", machine_json(terms.threads)}};
  if (!terms.name.empty()) json["name"] = terms.name;
  if (terms.host_memory_limit) json["host_memory_limit"] = *terms.host_memory_limit;
  if (terms.gpu_memory_limit) json["gpu_memory_limit"] = *terms.gpu_memory_limit;
  if (terms.epochs) json["epochs"] = *terms.epochs;
  if (!terms.towards.empty()) json["towards"] = Json::parse(terms.towards);
  if (terms.sharpness) json["sharpness"] = true;
  if (terms.branch_samples) {
    json["branch_samples"] = *terms.branch_samples;
    json["learning_rate_rule"] = terms.learning_rate_rule;
    json["weights_file"] = terms.weights_file;
  }
  // A single one is the workload's own.
  if (terms.precisions.size() > 1) json["precisions"] = terms.precisions;
  if (!terms.power_limits.empty()) json["power_limits_watts"] = terms.power_limits;
  return json;
}

}  // namespace

trial::StudyKey study_key(const std::string& title, const std::string& identity_json,
                          const Terms& terms) {
  const Json key{{"workload", Json::parse(identity_json)}, {"terms", terms_json(terms)}};
  return {fmt::format("{} {}", terms.kind, title),
          key.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace sweetspot::study
