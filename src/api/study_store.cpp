#include "api/study_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "probe/proc/host.h"

namespace sweetspot::api {
namespace {

std::string cpu_name() { return probe::proc::cpu().model.value_or("unknown CPU"); }

trial::Environment environment(const search::Limits& limits) {
  advise::RunFacts facts;
  facts.memory_limit = limits.memory.limit;
  const nlohmann::ordered_json json{
      {"version", SWEETSPOT_VERSION},
      {"build_type", SWEETSPOT_BUILD_TYPE},
      {"compiler", __VERSION__},
      {"cpu", cpu_name()},
      {"usable_cores", probe::proc::usable_cores()},
      {"gpus", probe::proc::nvidia_gpus()},
      {advise::run_facts_key, nlohmann::ordered_json::parse(advise::to_json(facts))}};
  return {fmt::format("libsweetspot {} ({})", SWEETSPOT_VERSION, SWEETSPOT_BUILD_TYPE),
          fmt::format("{}, {} cores", cpu_name(), probe::proc::usable_cores()),
          core::json_text(json)};
}

}  // namespace

advise::Request request_of(const Options& options, const search::Limits& limits) {
  const std::string version = SWEETSPOT_VERSION;
  advise::Request request;
  request.workload = core::json_text(nlohmann::json{{"callback", options.name}});
  request.limits = limits;
  request.limits.memory.limit = options.memory_limit_bytes;  // not free memory, which changes
  request.memory_share = options.memory_share;
  request.precision = options.precision;
  request.repeat = options.repeats;
  request.program_major = version.substr(0, version.find('.'));
  request.machine = {probe::proc::cpu().model.value_or(""), probe::proc::usable_cores()};
  return request;
}

Kept keep(const Options& options, const search::Limits& limits) {
  Kept kept;
  kept.store = store::open_store(options.store.empty() ? "memory:" : options.store);
  kept.writer = kept.store->open_study(advise::study_key(options.name, request_of(options, limits)),
                                       environment(limits), options.fresh);
  return kept;
}

}  // namespace sweetspot::api
