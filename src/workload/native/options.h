#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/pipeline.h"
#include "engine/cuda/cuda.h"
#include "engine/trainer.h"
#include "workload/native/device.h"

namespace sweetspot::workload::native {

// One training run as asked for. `pipeline.batch` is the batch: samples per weight update.
struct Options {
  std::string model = "paper-cnn";  // a zoo name or a file
  std::string data;  // empty: chosen by the model; "mnist", "synthetic[:N]", a folder
  data::PipelineOptions pipeline;
  engine::Optimizer optimizer;
  std::optional<model::Loss> loss;  // else the model's natural one
  std::int64_t accumulation = 1;
  int epochs = 5;
  std::optional<std::int64_t> max_steps;
  bool evaluate = true;
  bool noise_scale = false;  // of the gradients, measured while it trains
  std::uint64_t seed = 1000;
  int threads = 1;  // of the CPU engine
  Device device;
  engine::Precision precision = engine::Precision::fp32;
  std::optional<std::filesystem::path> save, load;

  std::int64_t batch() const { return pipeline.batch; }
  std::int64_t micro_batch() const { return pipeline.batch / accumulation; }
};

// InputError for a combination that cannot be trained, before anything is opened.
void check(const Options& options);

engine::TrainerOptions trainer_options(const Options& options, const model::Network& network);
engine::cuda::Options gpu_options(const Options& options, const model::Network& network);
// How the test split is read: in the order it has, by the trainer's own thread.
data::PipelineOptions evaluation_pipeline(const data::Samples& test);

}  // namespace sweetspot::workload::native
