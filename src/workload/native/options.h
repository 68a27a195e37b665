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

// How ranks on GPUs sum their gradients.
enum class GpuSums { none, nccl, host_memory };
std::string_view name(GpuSums sums);

// The ranks that train together, of which this process is one: each has its part of every batch and
// all keep the same weights, or each has its own batches and changes shared weights at any time.
struct RankOptions {
  collective::Group* group = nullptr;  // null: this process trains alone
  bool asynchronous = false;
  core::Bytes bucket_bytes = engine::Ranks().bucket_bytes;
  const std::atomic<int>* stop = nullptr;  // not 0 when this rank is to stop
  // The same ranks, if they train on GPUs, and how many of them are on this one's.
  collective::GpuGroup* on_gpus = nullptr;
  int sharing_gpu = 1;
  GpuSums sums = GpuSums::none;

  int count() const { return group ? group->size() : 1; }
  int rank() const { return group ? group->rank() : 0; }
  bool is_first() const { return rank() == 0; }
};

// One requested training run. `pipeline.batch` is the batch: samples per weight update, and the
// largest of them if the batch changes.
struct Options {
  std::string model = "paper-cnn";  // a zoo name or a file
  std::string data;  // empty: chosen by the model; "mnist" or another that can be fetched,
                     // "synthetic[:N]", a folder
  data::PipelineOptions pipeline;
  std::vector<BatchStage> schedule;  // of the batch by epochs; empty: fixed
  std::optional<DynamicBatch> dynamic;
  engine::Optimizer optimizer;  // with the learning rate of the first batch
  // How it scales with a changing batch; else by the optimizer.
  std::optional<convergence::LearningRateRule> learning_rate_rule;
  std::optional<model::Loss> loss;  // else the model's natural one
  std::int64_t accumulation = 1;
  int epochs = 5;
  std::optional<std::int64_t> max_steps;
  bool evaluate = true;
  bool noise_scale = false;  // of the gradients, measured during training
  bool sharpness = false;    // of the loss at the end, measured there
  std::uint64_t seed = 1000;
  int threads = 1;  // of the CPU engine
  RankOptions ranks;
  Device device;
  engine::Precision precision = engine::Precision::fp32;
  std::optional<std::filesystem::path> save, load;

  std::int64_t batch() const { return pipeline.batch; }
  // The number of ranks that divide a batch.
  int parts() const { return ranks.asynchronous ? 1 : ranks.count(); }
  std::int64_t micro_batch(std::int64_t of_batch) const {
    const std::int64_t part = accumulation * parts();
    return (of_batch + part - 1) / part;
  }
  std::int64_t micro_batch() const { return micro_batch(pipeline.batch); }
  // Ranks, including this one, that take their memory from the same device or machine.
  int ranks_in_memory() const {
    if (device.gpu) return ranks.sharing_gpu;
    return ranks.group ? ranks.group->local_size() : 1;
  }
  std::int64_t first_batch() const;
  bool batch_changes() const { return dynamic || !schedule.empty(); }
  convergence::LearningRateRule rule() const {
    return rule(learning_rate_rule, dynamic.has_value());
  }
  // The requested one, else the optimizer's default.
  convergence::LearningRateRule rule(const std::optional<convergence::LearningRateRule>& asked,
                                     bool noise_known) const;
  // All batches that the run may use, ascending, each once.
  std::vector<std::int64_t> batches() const;
  std::vector<std::int64_t> micro_batches() const;
};

// The first rank's value, for all; every rank calls it. Alone: the value itself.
std::int64_t of_first_rank(const RankOptions& ranks, std::int64_t value);

// InputError for a combination that cannot be trained, before anything is opened.
void check(const Options& options);

engine::TrainerOptions trainer_options(const Options& options, const model::Network& network);
engine::cuda::Options gpu_options(const Options& options, const model::Network& network);
// How the test split is read: in its own order, by the trainer's own thread. Ranks share it.
data::PipelineOptions evaluation_pipeline(const data::Samples& test, const RankOptions& ranks = {});

}  // namespace sweetspot::workload::native
