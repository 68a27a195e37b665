#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "workload/native/train.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sweetspot::cli {

// Guards against typing errors; far above any machine or run.
constexpr std::int64_t most_threads = 4096, most_epochs = 1'000'000;

// The flags of a native training run: `train` takes them all, `tune` and `sweep` those that affect
// speed, `memory` those that affect memory.
struct NativeFlags {
  workload::native::Options options;
  std::optional<double> learning_rate, momentum, weight_decay;
  std::string device = "auto", precision = "fp32";
  bool json = false;

  NativeFlags();
  // The options with the optimizer's own defaults filled in and the device chosen; InputError for
  // incompatible flags. With --precision auto the precision is still open.
  workload::native::Options resolved() const;
};

// Keras' defaults: adaptive optimizers need a smaller one.
double usual_learning_rate(engine::Optimizer::Kind kind);
bool is_adaptive(engine::Optimizer::Kind kind);

// "2 threads", or "bf16 on cuda:0 (NVIDIA H200)".
std::string device_words(const workload::native::Options& options);

// With --precision auto: chooses by training at this batch, and returns the reason; else nullopt.
std::optional<std::string> settle_precision(const NativeFlags& flags, workload::native::Run& run,
                                            std::int64_t batch);

void add_memory_flags(CLI::App& app, NativeFlags& flags);
void add_workload_flags(CLI::App& app, NativeFlags& flags);  // including those of memory
void add_training_flags(CLI::App& app, NativeFlags& flags);
void learning_rate_rule_flag(CLI::App& app, std::optional<convergence::LearningRateRule>& rule);

}  // namespace sweetspot::cli
