#include "report/study_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/number.h"
#include "core/text.h"
#include "core/units.h"

namespace sweetspot::report {
namespace {

// A member of an object, null if there is none: keys may be of any version, or foreign.
nlohmann::json member(const nlohmann::json& json, const char* name) {
  return json.is_object() && json.contains(name) ? json[name] : nlohmann::json();
}

std::string text(const nlohmann::json& json) {
  return json.is_string() ? json.get<std::string>() : "";
}

std::string count(const nlohmann::json& json) { return core::format_count(json.get<double>()); }

std::string swept(const nlohmann::json& terms) {
  const nlohmann::json batches = member(terms, "batches");
  if (!batches.is_array() || batches.empty() ||
      !std::ranges::all_of(batches, [](const nlohmann::json& batch) { return batch.is_number(); }))
    return "sweep";
  return batches.size() == 1
             ? fmt::format("sweep {}", count(batches.front()))
             : fmt::format("sweep {}–{}", count(batches.front()), count(batches.back()));
}

std::string goal(const nlohmann::json& terms) {
  const std::string kind = text(member(terms, "kind"));
  if (kind == "sweep") return swept(terms);
  if (kind != "tune") return kind;
  const nlohmann::json towards = member(terms, "towards");
  if (member(towards, "value").is_number())
    return fmt::format("{}{}={:g}", member(towards, "energy") == true ? "energy-to-" : "",
                       text(member(towards, "metric")), member(towards, "value").get<double>());
  std::string objective = text(member(member(terms, "limits"), "objective"));
  std::ranges::replace(objective, '_', '-');  // as --for takes it
  return objective;
}

void add(std::string& list, const std::string& more) { list += (list.empty() ? "" : ", ") + more; }

void add_bytes(std::string& list, const std::string& of, const nlohmann::json& bytes) {
  if (bytes.is_number_unsigned()) add(list, of + core::format_bytes(bytes.get<core::Bytes>()));
}

std::string limit(const nlohmann::json& terms, const nlohmann::json& workload) {
  const nlohmann::json limits = member(terms, "limits");
  std::string list;
  add_bytes(list, "", member(limits, "memory_limit"));
  add_bytes(list, "gpu ", member(terms, "gpu_memory_limit"));
  add_bytes(list, "host ", member(terms, "host_memory_limit"));
  if (const nlohmann::json whole = member(limits, "divisor_of"); whole.is_number())
    add(list, "global batch " + count(whole));
  const nlohmann::json max = member(limits, "max"),
                       samples = member(member(workload, "data"), "samples");
  // Without a limit, the largest is the data set's size, or that of any number.
  constexpr std::int64_t any = core::most_batch / 2;
  if (text(member(terms, "kind")) == "tune" && max.is_number() && max != samples && max < any)
    add(list, "batch ≤ " + count(max));
  return list;
}

}  // namespace

StudySummary study_summary(const trial::StudyKey& study_key) {
  const nlohmann::json key = nlohmann::json::parse(study_key.json, nullptr, false);
  const nlohmann::json terms = member(key, "terms");
  StudySummary asked;
  asked.name = text(member(terms, "name"));
  asked.goal = goal(terms);
  asked.limit = limit(terms, member(key, "workload"));
  asked.what = study_key.workload;  // "tune paper-cnn on mnist"
  const std::string kind = text(member(terms, "kind"));
  if (!kind.empty() && asked.what.starts_with(kind + " ")) asked.what.erase(0, kind.size() + 1);
  return asked;
}

}  // namespace sweetspot::report
