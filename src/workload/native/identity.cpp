#include "workload/native/identity.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "model/counts.h"

namespace sweetspot::workload::native {
namespace {

using Json = nlohmann::json;  // its keys are sorted: one text per identity

Json model_json(const Run& run) {
  std::ifstream file(run.options.model, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return {{"name", run.network.name},
          {"parameters", model::total_counts(run.network).parameters},
          {"file", bytes.empty() ? Json(nullptr) : Json(core::fingerprint(bytes))}};
}

Json data_json(const data::Dataset& dataset) {
  return {{"name", dataset.name},
          {"samples", dataset.train.count},
          {"test_samples", dataset.test.count},
          {"sample_size", dataset.train.sample_size()},
          {"classes", dataset.classes}};
}

Json options_json(const Options& o, const engine::TrainerOptions& trainer) {
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

}  // namespace

std::string identity_json(const Run& run, bool trains) {
  Json json{{"model", model_json(run)},
            {"data", data_json(run.dataset)},
            {"options", options_json(run.options, run.trainer)},
            {"machine", {{"isa", engine::cpu::backend().isa}, {"threads", run.options.threads}}}};
  // Only for a GPU: studies on the CPU from before there was a choice are resumed.
  if (const Device& device = run.options.device; device.gpu)
    json["device"] = {{"name", name(device)},
                      {"model", device.model},
                      {"precision", name(run.options.precision)}};
  // Likewise only for several.
  if (const RankOptions& ranks = run.options.ranks; ranks.count() > 1)
    json["ranks"] = {{"count", ranks.count()}, {"bucket_bytes", ranks.bucket_bytes}};
  // Measurements during training, or of one batch after another, are a different curve.
  if (!trains) json["measured"] = "in rounds, learning rate 0";
  return core::json_text(json);
}

}  // namespace sweetspot::workload::native
