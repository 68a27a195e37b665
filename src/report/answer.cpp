#include "report/answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace sweetspot::report {

std::int64_t size_of(const trial::Trial& trial, const Answer& answer) {
  return answer.recommendation && answer.recommendation->global_batch ? trial.setting.micro_batch()
                                                                      : trial.setting.batch;
}

const advise::BatchRow* row_of(const trial::Trial& trial, const Answer& answer) {
  if (!answer.recommendation) return nullptr;
  const advise::Recommendation& made = *answer.recommendation;
  const trial::Setting &own = trial.setting, &chosen = made.setting;
  const bool same_loader = own.configuration.workers == chosen.configuration.workers &&
                           own.configuration.prefetch == chosen.configuration.prefetch;
  // Trials have the given learning rate, whatever the answer's is.
  const double given_rate =
      made.learning_rate ? made.learning_rate->base.rate : chosen.learning_rate;
  // A loader that helped is recommended, but was tried at only one batch.
  const bool is_check = made.loader_check && check_helped(*made.loader_check);
  if (same_loader == is_check || own.configuration.precision != chosen.configuration.precision ||
      own.learning_rate != given_rate ||
      own.configuration.power_limit_watts != chosen.configuration.power_limit_watts)
    return nullptr;
  const auto found = std::ranges::find(made.rows, size_of(trial, answer), &advise::BatchRow::batch);
  return found == made.rows.end() ? nullptr : &*found;
}

std::vector<Row> rows(const Answer& answer) {
  std::vector<Row> list;
  const auto bottlenecks = advise::bottlenecks(answer.trials, answer.facts);
  for (std::size_t i = 0; i < answer.trials.size(); ++i) {
    const trial::Trial& trial = answer.trials[i];
    const advise::BatchRow* row = row_of(trial, answer);
    const bool is_told = row && trial.outcome == row->outcome;
    list.push_back({&trial, static_cast<std::int64_t>(i) + 1,
                    is_told ? row->limited_by : bottlenecks[i], answer.doubt.has_value()});
  }
  std::stable_sort(list.begin(), list.end(), [](const Row& a, const Row& b) {
    const trial::Setting &x = a.trial->setting, &y = b.trial->setting;
    return std::tie(x.batch, x.accumulation, x.configuration.workers, x.configuration.precision,
                    x.configuration.power_limit_watts) <
           std::tie(y.batch, y.accumulation, y.configuration.workers, y.configuration.precision,
                    y.configuration.power_limit_watts);
  });
  return list;
}

namespace {

// The store may contain foreign data: values of another type are unknown.
template <class T>
std::optional<T> at(const nlohmann::json& json, const char* pointer) {
  const nlohmann::json::json_pointer where(pointer);
  if (!json.contains(where)) return std::nullopt;
  const nlohmann::json& value = json[where];
  const bool fits = std::is_same_v<T, std::string> ? value.is_string()
                    : std::is_integral_v<T>        ? value.is_number_integer()
                                                   : value.is_number();
  return fits ? std::optional(value.get<T>()) : std::nullopt;
}

search::Limits limits_of(const nlohmann::json& terms, const nlohmann::json& environment) {
  search::Limits limits;
  using search::Objective;
  for (const Objective each : {Objective::max_batch, Objective::energy})
    if (at<std::string>(terms, "/limits/objective") == name(each)) limits.objective = each;
  limits.min = std::max<std::int64_t>(1, at<std::int64_t>(terms, "/limits/min").value_or(1));
  limits.max = std::max(limits.min, at<std::int64_t>(terms, "/limits/max").value_or(INT64_MAX / 2));
  std::vector<std::int64_t> swept;
  if (terms.contains("batches"))
    for (const nlohmann::json& batch : terms["batches"])
      if (batch.is_number_integer()) swept.push_back(batch.get<std::int64_t>());
  if (!swept.empty()) limits.min = std::ranges::min(swept), limits.max = std::ranges::max(swept);
  limits.multiple_of =
      std::max<std::int64_t>(1, at<std::int64_t>(terms, "/limits/multiple_of").value_or(1));
  limits.tolerance = at<double>(terms, "/limits/tolerance").value_or(limits.tolerance);
  limits.divisor_of = at<std::int64_t>(terms, "/limits/divisor_of");
  const auto any = at<core::Bytes>(terms, "/limits/memory_limit");
  const auto of_host = at<core::Bytes>(terms, "/host_memory_limit");
  const auto of_gpu = at<core::Bytes>(terms, "/gpu_memory_limit");
  limits.memory.limit = of_host ? of_host : any;
  limits.memory.gpu_limit = of_gpu ? of_gpu : any;
  // What was free at the beginning, and the share of it that was allowed.
  const auto of_device = at<double>(environment, "/facts/memory_free_bytes");
  const auto free = of_device ? of_device : at<double>(environment, "/memory_free_bytes");
  const auto share = at<double>(terms, "/memory_share");
  if (free && share && *free >= 0 && *share >= 0 && *share <= 1) {
    const auto allowed = static_cast<core::Bytes>(*free * *share);
    limits.memory.limit = std::min(limits.memory.limit.value_or(allowed), allowed);
    limits.memory.gpu_share = *share;
  }
  return limits;
}

// What its command knew of the workload and the machine.
advise::Facts facts_of(const nlohmann::json& terms, const nlohmann::json& environment) {
  advise::Facts facts;
  facts.limits = limits_of(terms, environment);
  facts.roofline = {at<double>(environment, "/facts/flops_per_second"),
                    at<double>(environment, "/facts/bytes_per_second")};
  facts.cost = {at<double>(environment, "/facts/flops_per_sample"),
                at<double>(environment, "/facts/bytes_per_sample")};
  return facts;
}

// The answer as given.
void recall_answer(const trial::Study& study, Answer& answer) {
  answer.take(advise::answer_of(study));
  if (const auto& made = answer.recommendation) {
    answer.facts.limits.memory.limit = made->memory_limit;
    answer.facts.largest_fitting = made->largest_batch;
    answer.facts.global_batch = made->global_batch;
    if (answer.message.empty() && made->cut_short)
      answer.message = words(advise::Reason::cut_short, *made);
  } else if (answer.critical_batch && answer.message.empty()) {
    answer.message = sentence(*answer.critical_batch, answer.workload);
  } else if (!study.answer.empty() && !advise::answer_from_json(study.answer)) {
    answer.message = "this version cannot read the answer of this study; run tune again";
  }
}

}  // namespace

void Answer::take(const advise::Answer& given) {
  const auto put = [&given]<class T>(std::optional<T>& part) {
    if (const T* made = given.get<T>()) part = *made;
  };
  put(recommendation), put(doubt), put(to_target), put(critical_batch);
  status = name(given.end), message = given.message;
}

Answer answer_of(const trial::Study& study) {
  const nlohmann::json key = nlohmann::json::parse(study.study_key.json, nullptr, false);
  const nlohmann::json environment = nlohmann::json::parse(study.environment.json, nullptr, false);
  const nlohmann::json terms = key.contains("terms") ? key["terms"] : nlohmann::json::object();
  const std::string kind = at<std::string>(terms, "/kind").value_or("");
  Answer answer;
  answer.study = std::to_string(study.id);
  answer.workload = study.study_key.workload;
  if (!kind.empty() && answer.workload.starts_with(kind + " "))
    answer.workload.erase(0, kind.size() + 1);
  answer.trials = study.trials;
  if (kind == "sweep") answer.swept_epochs = at<std::int64_t>(terms, "/epochs");
  for (const trial::Trial& trial : study.trials) answer.seconds += trial.seconds;
  answer.environment_json = study.environment.json;
  answer.program = study.environment.program, answer.machine = study.environment.machine;
  answer.started_at = study.started_at;
  answer.running = study.running;
  answer.facts = facts_of(terms, environment);
  recall_answer(study, answer);
  return answer;
}

}  // namespace sweetspot::report
