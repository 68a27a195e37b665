#include "advise/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "advise/json_form.h"
#include "core/json_values.h"

namespace sweetspot::advise {
namespace {

constexpr auto limits_fields = [](auto& form, auto& limits) {
  form.named("objective", limits.objective, search::Objective::energy);
  form.field("min", limits.min);
  form.field("max", limits.max);
  form.field("multiple_of", limits.multiple_of);
  form.field("tolerance", limits.tolerance);
  form.field("divisor_of", limits.divisor_of);
  form.field("memory_limit", limits.memory.limit);
};

constexpr auto towards_fields = [](auto& form, auto& towards) {
  form.named("metric", towards.target.metric, trial::Target::Metric::loss);
  form.field("value", towards.target.value);
  form.field("energy", towards.for_energy);
  form.field("most_epochs", towards.most_epochs);
  form.field("base_batch", towards.base_batch);
  form.named("rule", towards.rule, convergence::LearningRateRule::surge);
};

template <class Form>
void tried_field(Form& form, const trial::SettingField& field, auto& tried) {
  const trial::Setting usual;
  field.in(usual, [&](const auto& its) {
    using Element = trial::ElementOf<decltype(its)>;
    std::vector<Element> values;
    if (const auto found = tried.find(field.key); found != tried.end())
      for (const trial::Value& value : found->second) values.push_back(std::get<Element>(value));
    if constexpr (requires { form.field(field.tried, values); }) form.field(field.tried, values);
    if constexpr (Form::reads)
      if (!values.empty()) tried[field.key] = {values.begin(), values.end()};
  });
}

constexpr auto request_fields = [](auto& form, auto& request) {
  form.named("kind", request.kind, Request::Kind::paper);
  form.text("name", request.name);
  form.group("limits", [&](auto& inner) { limits_fields(inner, request.limits); });
  form.field("host_memory_limit", request.host_memory_limit);
  form.field("gpu_memory_limit", request.gpu_memory_limit);
  form.field("memory_share", request.memory_share);
  form.field("precision", request.precision);
  form.field("batches", request.batches);
  form.field("accumulations", request.accumulations);
  for (const trial::SettingField& field : trial::setting_fields())
    if (field.tried) tried_field(form, field, request.tried);
  form.field("epochs", request.epochs);
  form.object("towards", request.towards, towards_fields);
  form.field("sharpness", request.sharpness);
  form.field("branch_samples", request.branch_samples);
  form.text("learning_rate_rule", request.learning_rate_rule);
  form.text("weights_file", request.weights_file);
  form.field("repeat", request.repeat);
  form.field("program", request.program_major);
  form.group("machine", [&](auto& inner) {
    inner.field("cpu", request.machine.cpu);
    inner.field("cores", request.machine.cores);
  });
};

void memory_row_fields(auto& form, auto& row) {
  form.field("batch", row.first);
  for (std::size_t i = 0; i < row.second.bytes.size(); ++i)
    form.field(fmt::format("{}_bytes", name(static_cast<core::Use>(i))).c_str(),
               row.second.bytes[i]);
}

constexpr auto run_facts_fields = [](auto& form, auto& facts) {
  form.field("memory_free_bytes", facts.memory_free);
  form.field("memory_limit_bytes", facts.memory_limit);
  form.field("tolerance_share", facts.tolerance);
  form.field("flops_per_second", facts.roofline.flops_per_second);
  form.field("bytes_per_second", facts.roofline.bytes_per_second);
  form.field("flops_per_sample", facts.cost.flops);
  form.field("bytes_per_sample", facts.cost.bytes);
  form.list("memory_by_use", facts.memory,
            [](auto& each, auto& row) { memory_row_fields(each, row); });
};

// The last words of a study's title.
std::string target_words(const Request& request) {
  return request.towards ? fmt::format(" to {}", words(request.towards->target)) : "";
}

}  // namespace

std::string to_json(const RunFacts& facts) {
  return written_json([&](JsonWriter& form) { run_facts_fields(form, facts); });
}

RunFacts run_facts_in(const std::string& environment_json) {
  RunFacts facts;
  const auto read = [&](JsonReader& form) {
    form.group(run_facts_key, [&](JsonReader& inner) { run_facts_fields(inner, facts); });
  };
  return read_json(environment_json, read, Missing::kept) ? facts : RunFacts();
}

search::Limits limits_of(const Request& request, const RunFacts& facts) {
  search::Limits limits = request.limits;
  if (!request.batches.empty()) {
    limits.min = std::ranges::min(request.batches), limits.max = std::ranges::max(request.batches);
    limits.tolerance = facts.tolerance;
  }
  limits.memory.gpu_limit =
      request.gpu_memory_limit ? request.gpu_memory_limit : limits.memory.limit;
  if (request.memory_share) limits.memory.gpu_share = *request.memory_share;
  limits.memory.limit = facts.memory_limit;
  return limits;
}

std::string_view name(Request::Kind kind) {
  constexpr std::array<std::string_view, 4> names{"tune", "sweep", "critical-batch", "paper"};
  return names[static_cast<std::size_t>(kind)];
}

trial::StudyKey study_key(const std::string& title, const Request& request) {
  using Json = nlohmann::json;  // its keys are sorted: one text per request
  const std::string terms = written_json([&](JsonWriter& form) { request_fields(form, request); });
  const Json key{{"workload", Json::parse(request.workload)}, {"terms", Json::parse(terms)}};
  return {fmt::format("{} {}{}", name(request.kind), title, target_words(request)),
          core::json_text(key)};
}

std::optional<Request> request_of(const trial::StudyKey& study_key) {
  Request request;
  request.limits.max = INT64_MAX / 2;  // as if there were none
  const auto json = nlohmann::ordered_json::parse(study_key.json, nullptr, false);
  if (!json.is_object() || !json.contains("terms")) return std::nullopt;
  if (json.contains("workload")) request.workload = json["workload"].dump();
  const auto fields = [&](JsonReader& form) { request_fields(form, request); };
  const search::Limits& limits = request.limits;
  if (!json["terms"].contains("kind") || !read_json(json["terms"].dump(), fields, Missing::kept) ||
      limits.min < 1 || limits.max < limits.min || limits.multiple_of < 1)
    return std::nullopt;
  return request;
}

std::string title_of(const trial::StudyKey& study_key, const Request& request) {
  const std::string kind = fmt::format("{} ", name(request.kind)), end = target_words(request);
  std::string title = study_key.workload;
  if (title.starts_with(kind)) title.erase(0, kind.size());
  if (title.ends_with(end)) title.resize(title.size() - end.size());
  return title;
}

}  // namespace sweetspot::advise
