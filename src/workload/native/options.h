#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "convergence/learning_rate_rule.h"
#include "data/pipeline.h"
#include "engine/cuda/cuda.h"
#include "engine/trainer.h"
#include "workload/native/batch_schedule.h"
#include "workload/native/device.h"

namespace sweetspot::workload::native {

// The ranks that train together, of which this process is one: each has its part of every batch and
// all keep the same weights, or each has batches of its own and changes shared weights when it
// likes.
struct RankOptions {
  collective::Group* group = nullptr;  // none: this process trains alone
  bool asynchronous = false;
  core::Bytes bucket_bytes = engine::Ranks().bucket_bytes;
  const std::atomic<int>* stop = nullptr;  // not 0 when this rank is to stop

  int count() const { return group ? group->size() : 1; }
  int rank() const { return group ? group->rank() : 0; }
  bool is_first() const { return rank() == 0; }
};

// One training run as asked for. `pipeline.batch` is the batch: samples per weight update, and the
// largest of them where the batch changes.
struct Options {
  std::string model = "paper-cnn";  // a zoo name or a file
  std::string data;  // empty: chosen by the model; "mnist" or another that can be fetched,
                     // "synthetic[:N]", a folder
  data::PipelineOptions pipeline;
  std::vector<BatchStage> schedule;  // of the batch by epochs; empty: it stays
  std::optional<DynamicBatch> dynamic;
  engine::Optimizer optimizer;  // with the learning rate of the first batch
  // How it follows a batch that changes; else as it suits the optimizer.
  std::optional<convergence::LearningRateRule> learning_rate_rule;
  std::optional<model::Loss> loss;  // else the model's natural one
  std::int64_t accumulation = 1;
  int epochs = 5;
  std::optional<std::int64_t> max_steps;
  bool evaluate = true;
  bool noise_scale = false;  // of the gradients, measured while it trains
  bool sharpness = false;    // of the loss at the end, measured there
  std::uint64_t seed = 1000;
  int threads = 1;  // of the CPU engine
  RankOptions ranks;
  Device device;
  engine::Precision precision = engine::Precision::fp32;
  std::optional<std::filesystem::path> save, load;

  std::int64_t batch() const { return pipeline.batch; }
  // Of a batch, what one rank has.
  int parts() const { return ranks.asynchronous ? 1 : ranks.count(); }
  std::int64_t micro_batch(std::int64_t of_batch) const {
    const std::int64_t part = accumulation * parts();
    return (of_batch + part - 1) / part;
  }
  std::int64_t micro_batch() const { return micro_batch(pipeline.batch); }
  std::int64_t first_batch() const;
  bool batch_changes() const { return dynamic || !schedule.empty(); }
  convergence::LearningRateRule rule() const {
    return rule(learning_rate_rule, dynamic.has_value());
  }
  // The one asked for, else what suits the optimizer.
  convergence::LearningRateRule rule(const std::optional<convergence::LearningRateRule>& asked,
                                     bool noise_known) const;
  // All that the run may come to, ascending, each once.
  std::vector<std::int64_t> batches() const;
  std::vector<std::int64_t> micro_batches() const;
};

// InputError for a combination that cannot be trained, before anything is opened.
void check(const Options& options);

// That the CPU engine's kernels are for: "avx512".
std::string cpu_instruction_set();

engine::TrainerOptions trainer_options(const Options& options, const model::Network& network);
engine::cuda::Options gpu_options(const Options& options, const model::Network& network);
// How the test split is read: in the order it has, by the trainer's own thread.
// Ranks share it.
data::PipelineOptions evaluation_pipeline(const data::Samples& test, const RankOptions& ranks = {});

}  // namespace sweetspot::workload::native
