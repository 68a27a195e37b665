#include "api/study_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "probe/proc/host.h"
#include "study/study_key.h"

namespace sweetspot::api {
namespace {

// The result has the trials: nothing else need be stored.
class Forgetful : public store::Writer {
 public:
  const trial::Study& study() const override { return study_; }
  void save(std::span<trial::Trial> trials) override {
    for (trial::Trial& trial : trials)
      if (trial.id == 0) trial.id = ++last_id_;
  }
  void amend(const trial::Trial&) override {}
  void set_answer(const std::string&) override {}
  void set_end(trial::End) override {}
  void set_running(std::int64_t) override {}

 private:
  trial::Study study_;
  std::int64_t last_id_ = 0;
};

trial::StudyKey study_key(const Options& options, const search::Limits& limits) {
  const std::string version = SWEETSPOT_VERSION;
  study::Terms terms;
  terms.kind = "tune";
  terms.limits = limits;
  terms.limits.memory.limit = options.memory_limit_bytes;  // not free memory, which changes
  terms.memory_share = options.memory_share;
  terms.precision = options.precision;
  terms.repeat = options.repeats;
  terms.threads = probe::proc::usable_cores();
  terms.program_major = version.substr(0, version.find('.'));
  const nlohmann::json identity{{"callback", options.name}};
  return study::study_key(
      options.name, identity.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), terms);
}

std::string cpu_name() { return probe::proc::cpu().model.value_or("unknown CPU"); }

}  // namespace

std::string environment_json() {
  const nlohmann::ordered_json json{{"version", SWEETSPOT_VERSION},
                                    {"build_type", SWEETSPOT_BUILD_TYPE},
                                    {"compiler", __VERSION__},
                                    {"cpu", cpu_name()},
                                    {"usable_cores", probe::proc::usable_cores()},
                                    {"gpus", probe::proc::nvidia_gpus()}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Kept keep(const Options& options, const search::Limits& limits) {
  Kept kept;
  if (options.store.empty()) {
    kept.writer = std::make_unique<Forgetful>();
    return kept;
  }
  const trial::Environment environment{
      fmt::format("libsweetspot {} ({})", SWEETSPOT_VERSION, SWEETSPOT_BUILD_TYPE),
      fmt::format("{}, {} cores", cpu_name(), probe::proc::usable_cores()), environment_json()};
  kept.store = store::open_store(options.store);
  kept.writer = kept.store->open_study(study_key(options, limits), environment, options.fresh);
  return kept;
}

}  // namespace sweetspot::api
