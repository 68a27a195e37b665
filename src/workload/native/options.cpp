#include "workload/native/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "engine/cpu/cpu.h"

namespace sweetspot::workload::native {
namespace {

void require(bool holds, const std::string& sentence) {
  if (!holds) throw core::InputError(sentence);
}

void check_cpu_precision(engine::Precision precision) {
  if (precision == engine::Precision::fp32) return;
  require(precision == engine::Precision::bf16,
          fmt::format("the CPU trains in fp32 or bf16 and not in {}; leave out --precision, or use "
                      "--device cuda",
                      name(precision)));
  const engine::cpu::Backend backend = engine::cpu::backend();
  require(!backend.bf16.empty(),
          fmt::format("the CPU trains in fp32: {}; leave out --precision", backend.bf16_reason));
}

void check_ranks(const Options& o) {
  if (!o.ranks.group) return;
  require(!o.device.gpu || !o.ranks.asynchronous,
          "weights that ranks share lie in a host's memory; add --device cpu, or leave out "
          "--asynchronous");
  require(!o.dynamic,
          "a dynamic batch follows the speeds of one rank alone; leave out --ranks, or give a "
          "schedule such as --batch 64@0,256@1");
  require(!o.noise_scale || !o.ranks.asynchronous,
          "ranks that update asynchronously have no gradient in common; leave out --noise-scale, "
          "or --asynchronous");
  require(!o.sharpness, "sharpness is measured by one rank alone; leave out --ranks");
  require(!o.ranks.asynchronous || !o.batch_changes(),
          "ranks that update asynchronously keep one batch; leave out the schedule of --batch, or "
          "--asynchronous");
}

}  // namespace

std::string_view name(GpuSums sums) {
  switch (sums) {
    case GpuSums::none:
      return "";
    case GpuSums::nccl:
      return "nccl";
    case GpuSums::host_memory:
      return "host_memory";
  }
  return "";
}

std::int64_t of_first_rank(const RankOptions& ranks, std::int64_t value) {
  if (!ranks.group) return value;
  double said = ranks.is_first() ? static_cast<double>(value) : 0;
  ranks.group->sum({&said, 1});
  return static_cast<std::int64_t>(said);
}

std::int64_t Options::first_batch() const {
  if (dynamic) return dynamic->least;
  return schedule.empty() ? batch() : schedule.front().batch;
}

convergence::LearningRateRule Options::rule(
    const std::optional<convergence::LearningRateRule>& asked, bool noise_known) const {
  using Kind = engine::Optimizer::Kind;
  const bool adaptive = optimizer.kind == Kind::adam || optimizer.kind == Kind::adamw;
  return asked.value_or(convergence::default_rule(adaptive, noise_known));
}

std::vector<std::int64_t> Options::batches() const {
  if (dynamic) return dynamic->ladder();
  std::vector<std::int64_t> all{batch()};
  for (const BatchStage& stage : schedule) all.push_back(stage.batch);
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

std::vector<std::int64_t> Options::micro_batches() const {
  std::vector<std::int64_t> all = batches();
  for (std::int64_t& batch : all) batch = micro_batch(batch);
  return all;
}

void check(const Options& o) {
  for (const std::int64_t batch : o.batches()) {
    require(batch >= 1, fmt::format("the batch of {} must be at least 1", batch));
    require(
        o.accumulation >= 1 && batch % o.accumulation == 0,
        fmt::format("an accumulation of {} does not divide the batch of {}; choose one that does",
                    o.accumulation, batch));
    require(batch % (o.accumulation * o.parts()) == 0,
            fmt::format("a batch of {} cannot be divided among {} ranks{}; choose a multiple of {}",
                        batch, o.parts(),
                        o.accumulation > 1 ? fmt::format(" in {} parts each", o.accumulation) : "",
                        o.accumulation * o.parts()));
  }
  check_ranks(o);
  require(!o.batch_changes() || !o.device.gpu,
          "a batch that changes during training is supported on the CPU only; add --device cpu");
  require(o.epochs >= 1, fmt::format("{} epochs train nothing; ask for at least 1", o.epochs));
  if (!o.schedule.empty())
    require(o.schedule.back().from_epoch < o.epochs,
            fmt::format("the schedule's {}@{:g} would begin after the last of {} epochs; leave it "
                        "out, or ask for more --epochs",
                        o.schedule.back().batch, o.schedule.back().from_epoch, o.epochs));
  require(!o.sharpness || !o.device.gpu,
          "sharpness is measured on the CPU so far; add --device cpu, or leave out --sharpness");
  require(!o.max_steps || *o.max_steps >= 1, "at least 1 step is needed to train");
  require(o.threads >= 1, fmt::format("{} threads cannot train; ask for at least 1", o.threads));
  require(o.pipeline.workers >= 0 && o.pipeline.prefetch >= 1,
          "the input pipeline needs 0 or more workers and at least 1 batch of prefetch");
  if (!o.device.gpu) check_cpu_precision(o.precision);
  const double lr = o.optimizer.learning_rate;
  require(std::isfinite(static_cast<float>(lr)) && lr > 0,
          fmt::format("a learning rate of {} cannot train; choose a number above 0, such as 0.001",
                      lr));
  require(o.optimizer.momentum >= 0 && o.optimizer.momentum < 1,
          fmt::format("a momentum of {} must be at least 0 and below 1", o.optimizer.momentum));
  require(std::isfinite(o.optimizer.weight_decay) && o.optimizer.weight_decay >= 0,
          fmt::format("a weight decay of {} must be 0 or more", o.optimizer.weight_decay));
}

engine::TrainerOptions trainer_options(const Options& options, const model::Network& network) {
  const model::Loss natural = model::natural_loss(network);
  engine::TrainerOptions trainer;
  trainer.optimizer = options.optimizer;
  trainer.loss = options.loss.value_or(natural);
  trainer.seed = options.seed;
  trainer.threads = options.threads;
  trainer.precision = options.precision;
  trainer.gradient_norms = options.noise_scale || options.dynamic ||
                           (options.batch_changes() &&
                            options.rule() != convergence::rule_without_noise(options.rule()));
  if (options.ranks.group && !options.ranks.asynchronous)
    trainer.ranks = {options.ranks.group, options.ranks.bucket_bytes, options.ranks.stop,
                     options.ranks.on_gpus};
  if (trainer.loss != natural && natural == model::Loss::mean_squared_error)
    throw core::InputError(fmt::format(
        "the model {} does not end in softmax, which {} needs; use --loss {}",
        core::printable(network.name), model::name(trainer.loss), model::name(natural)));
  return trainer;
}

engine::cuda::Options gpu_options(const Options& options, const model::Network& network) {
  return {trainer_options(options, network), options.precision, options.device.gpu.value()};
}

data::PipelineOptions evaluation_pipeline(const data::Samples& test, const RankOptions& ranks) {
  data::PipelineOptions pipeline;
  pipeline.batch = std::min(engine::cpu::evaluation_batch, static_cast<std::int64_t>(test.count));
  pipeline.workers = 0;
  pipeline.prefetch = 1;
  pipeline.shuffle = false;
  pipeline.share = {ranks.rank(), ranks.count(), false};
  return pipeline;
}

}  // namespace sweetspot::workload::native
