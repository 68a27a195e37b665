#include "study/study_key.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/counts.h"
#include "probe/proc/host.h"

namespace sweetspot::study {
namespace {

using Json = nlohmann::json;  // its keys are sorted: one text per key

// FNV-1a: only distinguishes an edited model file from the previous one.
std::string fingerprint(const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

Json model_json(const workload::native::Run& run) {
  std::ifstream file(run.options.model, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return {{"name", run.network.name},
          {"parameters", model::total_counts(run.network).parameters},
          {"file", bytes.empty() ? Json(nullptr) : Json(fingerprint(bytes))}};
}

Json data_json(const data::Dataset& dataset) {
  return {{"name", dataset.name},
          {"samples", dataset.train.count},
          {"test_samples", dataset.test.count},
          {"sample_size", dataset.train.sample_size()},
          {"classes", dataset.classes}};
}

Json options_json(const workload::native::Options& o, const engine::TrainerOptions& trainer) {
  const data::PipelineOptions& p = o.pipeline;
  return {{"accumulation", o.accumulation},
          {"optimizer", name(o.optimizer.kind)},
          {"learning_rate", o.optimizer.learning_rate},
          {"momentum", o.optimizer.momentum},
          {"weight_decay", o.optimizer.weight_decay},
          {"loss", name(trainer.loss)},
          {"evaluate", o.evaluate},
          {"seed", o.seed},
          {"workers", p.workers},
          {"prefetch", p.prefetch},
          {"shuffle", p.shuffle},
          {"cache", p.cache},
          {"augment_shift", p.augment_shift},
          {"load_delay_seconds", p.delay.duration.count()},
          {"load_delay_per_sample", p.delay.per_sample},
          {"drop_last", p.drop_last}};
}

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

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string identity(const workload::native::Run& run, bool trains) {
  Json json{{"model", model_json(run)},
            {"data", data_json(run.dataset)},
            {"options", options_json(run.options, run.trainer)}};
  // Only for a GPU: studies on the CPU from before there was a choice are resumed.
  if (const workload::native::Device& device = run.options.device; device.gpu)
    json["device"] = {{"name", name(device)},
                      {"model", device.model},
                      {"precision", name(run.options.precision)}};
  // Likewise only for several.
  if (const workload::native::RankOptions& ranks = run.options.ranks; ranks.count() > 1)
    json["ranks"] = {{"count", ranks.count()}, {"bucket_bytes", ranks.bucket_bytes}};
  // Measurements during training, or of one batch after another, are a different curve.
  if (!trains) json["measured"] = "in rounds, learning rate 0";
  return text_of(json);
}

trial::StudyKey study_key(const std::string& title, const std::string& identity_json,
                          const Terms& terms) {
  return {fmt::format("{} {}", terms.kind, title),
          text_of({{"workload", Json::parse(identity_json)}, {"terms", terms_json(terms)}})};
}

}  // namespace sweetspot::study
