#include "report/stored.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/text.h"
#include "report/command.h"
#include "search/search.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::json;

// A store may hold what another wrote: of what has not the form asked for, nothing is known.
template <class T>
std::optional<T> at(const Json& json, const char* pointer) {
  const Json::json_pointer where(pointer);
  if (!json.contains(where)) return std::nullopt;
  const Json& value = json[where];
  const bool fits = std::is_same_v<T, std::string> ? value.is_string()
                    : std::is_integral_v<T>        ? value.is_number_integer()
                                                   : value.is_number();
  return fits ? std::optional(value.get<T>()) : std::nullopt;
}

search::Limits limits_of(const Json& terms, const Json& environment) {
  search::Limits limits;
  limits.objective = at<std::string>(terms, "/limits/objective") == "max_batch"
                         ? search::Objective::max_batch
                         : search::Objective::throughput;
  limits.min = std::max<std::int64_t>(1, at<std::int64_t>(terms, "/limits/min").value_or(1));
  limits.max = std::max(limits.min, at<std::int64_t>(terms, "/limits/max").value_or(INT64_MAX / 2));
  limits.multiple_of =
      std::max<std::int64_t>(1, at<std::int64_t>(terms, "/limits/multiple_of").value_or(1));
  limits.tolerance = at<double>(terms, "/limits/tolerance").value_or(limits.tolerance);
  limits.divisor_of = at<std::int64_t>(terms, "/limits/divisor_of");
  limits.memory_limit = at<core::Bytes>(terms, "/limits/memory_limit");
  limits.repeats = static_cast<int>(at<std::int64_t>(terms, "/repeat").value_or(1));
  // What was free when it began, and the share of it that was allowed.
  const auto of_device = at<double>(environment, "/facts/memory_free_bytes");
  const auto free = of_device ? of_device : at<double>(environment, "/memory_free_bytes");
  const auto share = at<double>(terms, "/memory_share");
  if (free && share && *free >= 0 && *share >= 0 && *share <= 1) {
    const auto allowed = static_cast<core::Bytes>(*free * *share);
    limits.memory_limit = std::min(limits.memory_limit.value_or(allowed), allowed);
  }
  return limits;
}

// What a search does not vary. Of a given batch it varies the accumulation too.
using Base = std::tuple<std::string, std::int64_t, std::string, int, int, double>;
Base base_of(const trial::Trial& t, bool global_batch) {
  const trial::Setting& s = t.setting;
  return {t.device,       global_batch ? 0 : s.accumulation, s.precision, s.workers, s.prefetch,
          s.learning_rate};
}

// The trials of the curve that the answer rests on: a tune that tried other loaders besides knows
// most batches on it. Where the batch is given, micro-batches stand in its place.
std::vector<trial::Trial> curve_of(const std::vector<trial::Trial>& trials, bool global_batch) {
  std::map<Base, std::set<std::int64_t>> batches;
  for (const trial::Trial& t : trials)
    batches[base_of(t, global_batch)].insert(t.setting.micro_batch());
  const auto most =
      std::ranges::max_element(batches, {}, [](const auto& entry) { return entry.second.size(); });
  std::vector<trial::Trial> curve;
  for (const trial::Trial& t : trials) {
    if (base_of(t, global_batch) != most->first) continue;
    curve.push_back(t);
    if (global_batch) curve.back().setting.batch = t.setting.micro_batch();
    if (global_batch) curve.back().setting.accumulation = 1;
  }
  return curve;
}

search::Predict predict_by(const std::vector<trial::Trial>& trials) {
  std::map<std::int64_t, core::Bytes> known;
  for (const trial::Trial& t : trials)
    if (t.memory_predicted) known[t.setting.batch] = *t.memory_predicted;
  return [known = std::move(known)](std::int64_t batch) -> std::optional<core::Bytes> {
    const auto found = known.find(batch);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

bool has_speed(const trial::Trial& t) {
  return t.outcome == trial::Outcome::ok && t.samples_per_second;
}

// Trials of one batch with other workers, in the order in which they were tried.
std::vector<const trial::Trial*> other_loaders(const std::vector<trial::Trial>& trials,
                                               const trial::Trial& like) {
  std::vector<const trial::Trial*> found;
  for (const trial::Trial& t : trials) {
    trial::Setting setting = t.setting;
    setting.workers = like.setting.workers, setting.prefetch = like.setting.prefetch;
    if (setting == like.setting && t.setting != like.setting) found.push_back(&t);
  }
  return found;
}

void recall_loaders(const std::vector<trial::Trial>& trials, const trial::Trial& chosen,
                    bool native, advise::Facts& facts) {
  const auto others = other_loaders(trials, chosen);
  if (others.empty()) return;
  if (!native) {  // a program's workers are searched
    advise::WorkerSearch search;
    search.workers = chosen.setting.workers;
    search.tried.push_back({chosen.setting.batch, search.workers, chosen.samples_per_second->mean});
    for (const trial::Trial* t : others)
      if (has_speed(*t))
        search.tried.push_back({t->setting.batch, t->setting.workers, t->samples_per_second->mean});
    facts.worker_search = std::move(search);
    return;
  }
  const trial::Trial& tried = *others.back();
  advise::LoaderCheck check;
  check.workers = tried.setting.workers, check.prefetch = tried.setting.prefetch;
  check.samples_per_second_before = chosen.samples_per_second->mean;
  if (tried.samples_per_second) check.samples_per_second = tried.samples_per_second->mean;
  check.data_wait_share = advise::data_wait_share(tried);
  check.memory_bytes = tried.memory_measured ? tried.memory_measured : tried.memory_predicted;
  facts.loader_check = check;
}

void recommend(Answer& answer, bool native) {
  advise::Facts& facts = answer.facts;
  facts.global_batch = facts.limits.divisor_of;
  const std::vector<trial::Trial> curve = curve_of(answer.trials, facts.global_batch.has_value());
  const search::Predict predict = predict_by(curve);
  facts.largest_fitting = search::largest_fitting(curve, facts.limits, predict);
  if (facts.largest_fitting) facts.largest_batch_bytes = predict(*facts.largest_fitting);
  facts.has_loader = native;
  const auto choice = search::choose(curve, facts.limits, predict);
  if (!choice) return;
  const auto chosen = std::ranges::find_if(curve, [&](const trial::Trial& t) {
    return t.setting.batch == choice->batch && has_speed(t);
  });
  if (chosen != curve.end() && !facts.global_batch)
    recall_loaders(answer.trials, *chosen, native, facts);
  answer.recommendation = advise::recommend(curve, *choice, facts);
  if (!answer.recommendation || !facts.global_batch) return;
  trial::Setting& setting = answer.recommendation->setting;
  setting.accumulation = *facts.global_batch / std::max<std::int64_t>(1, choice->batch);
  setting.batch = *facts.global_batch;
}

// What its command knew of the workload and the machine.
void recall_facts(const Json& environment, advise::Facts& facts) {
  facts.roofline = {at<double>(environment, "/facts/flops_per_second"),
                    at<double>(environment, "/facts/bytes_per_second")};
  facts.cost = {at<double>(environment, "/facts/flops_per_sample"),
                at<double>(environment, "/facts/bytes_per_sample")};
}

// And what it said beside the search's own reasons, with the command that trains as recommended.
void recall_command(const Json& environment, Answer& answer) {
  const Json facts = environment.is_object() ? environment.value("facts", Json()) : Json();
  if (!facts.is_object() || !answer.recommendation) return;
  for (const Json& reason : facts.value("reasons", Json::array()))
    if (reason.is_string())
      answer.recommendation->reasons.push_back(core::printable(reason.get<std::string>()));
  answer.command =
      command_at(command_of(facts.value("command", Json())), answer.recommendation->setting);
}

std::string status_of(const trial::Study& study, bool is_tune, const Answer& answer) {
  if (study.state == trial::StudyState::running) return "running";
  if (study.state == trial::StudyState::stopped) return "stopped";
  const bool any_ok = std::ranges::any_of(
      study.trials, [](const trial::Trial& t) { return t.outcome == trial::Outcome::ok; });
  const bool found = is_tune ? answer.recommendation.has_value() : any_ok;
  return !found ? "nothing_feasible" : is_tune ? "found" : "finished";
}

}  // namespace

Answer answer_of(const trial::Study& study) {
  const Json key = Json::parse(study.question.key, nullptr, false);
  const Json environment = Json::parse(study.environment.json, nullptr, false);
  const Json terms = key.contains("terms") ? key["terms"] : Json::object();
  const std::string kind = at<std::string>(terms, "/kind").value_or("");
  Answer answer;
  answer.study = std::to_string(study.id);
  answer.workload = study.question.workload;
  if (!kind.empty() && answer.workload.starts_with(kind + " "))
    answer.workload.erase(0, kind.size() + 1);
  answer.trials = study.trials;
  for (const trial::Trial& trial : study.trials) answer.seconds += trial.seconds;
  answer.environment_json = study.environment.json;
  answer.program = study.environment.program, answer.machine = study.environment.machine;
  answer.started_at = study.started_at;
  answer.facts.limits = limits_of(terms, environment);
  recall_facts(environment, answer.facts);
  const bool is_tune = kind == "tune";
  if (study.state == trial::StudyState::stopped && is_tune)
    answer.message = answer.facts.cut_short = "the search was stopped before its end";
  const bool native = key.contains(Json::json_pointer("/workload/model"));
  if (is_tune && !study.trials.empty()) recommend(answer, native);
  recall_command(environment, answer);
  answer.status = status_of(study, is_tune, answer);
  return answer;
}

}  // namespace sweetspot::report
