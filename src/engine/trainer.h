#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/group.h"
#include "convergence/noise_scale.h"
#include "core/buffer.h"
#include "engine/precision.h"
#include "model/network.h"

namespace sweetspot::engine {

struct Optimizer {
  enum class Kind { sgd, momentum, nesterov, adam, adamw };
  Kind kind = Kind::adam;
  double learning_rate = 0.001;
  double momentum = 0.9;                              // momentum, nesterov
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;  // adam, adamw; Keras' epsilon
  double weight_decay = 0.01;                         // adamw, decoupled
};
std::string_view name(Optimizer::Kind kind);
// Floats of optimizer state per trainable float.
int state_floats(Optimizer::Kind kind);

// A whole batch in host memory, channels last; either labels or targets.
struct BatchView {
  std::int64_t count = 0;
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  // For a batch shared by ranks: the first sample of this part, and the samples of all parts.
  std::int64_t first = 0;
  std::optional<std::int64_t> whole = std::nullopt;

  std::int64_t batch() const { return whole.value_or(count); }
};

struct StepResult {
  double loss = 0;           // mean over the batch
  std::int64_t correct = 0;  // samples whose largest output is their label
  // Where the time went, over all micro-batches; the update includes gathering partial gradients.
  core::Seconds forward{0}, backward{0}, update{0};
  // In some steps, if TrainerOptions::gradient_norms is set.
  std::optional<convergence::GradientNorms> gradient_norms;
  std::optional<double> gradient_squared;  // norm of the batch's gradient, from a GPU's trainer
  // For a trainer that is one of several ranks, whose loss and correct count are those of all.
  core::Seconds reduction_wait{0};  // for gradient sums that had not arrived in time
  bool stops = false;               // a rank was asked to stop before this step ended
};

// The ranks that train one model together, each on its part of every batch: gradients are summed
// over them, so that all keep the same weights.
struct Ranks {
  collective::Group* group = nullptr;       // none: the trainer is alone
  core::Bytes bucket_bytes = core::MiB;     // gradients per all-reduce
  const std::atomic<int>* stop = nullptr;   // not 0 when this rank is to stop
  collective::GpuGroup* on_gpus = nullptr;  // the same ranks, if they train on GPUs
};

struct TrainerOptions {
  Optimizer optimizer;
  model::Loss loss = model::Loss::sparse_categorical_crossentropy;
  std::uint64_t seed = 1000;
  int threads = 1;
  Precision precision = Precision::fp32;  // of the CPU engine: fp32 or bf16
  // Measure the gradient noise during training: some steps are preceded by a pass over the first
  // samples of their batch. Weights and losses stay bitwise the same. On a GPU, some of the queued
  // steps report only the norm of their batch.
  bool gradient_norms = false;
  Ranks ranks;
};

// A trainable or running variable in Keras' layout, for saving, loading and tests.
struct Variable {
  model::Parameter parameter;
  std::vector<float> values;
};

// Everything that the next step depends on besides its batch, in the engine's layout.
struct Checkpoint {
  std::vector<float> weights, optimizer_state;
  std::uint32_t steps = 0;
};

// One operation of a plan: the layer it runs, and how.
struct Operation {
  std::string name;            // "conv2d"
  std::string implementation;  // "avx512 convolution, ReLU and max pooling by minimal filtering"
  // Without accumulation it updates its weights itself, and its time includes that.
  bool updates_weights = false;
};

// Where one thread's time went in a step.
struct ThreadProfile {
  struct Times {
    core::Seconds forward{0}, backward{0}, update{0};
  };
  std::vector<Times> operations;  // in the order of the profile's operations
  Times waiting;                  // for the other threads
};

// One step with a clock read around each operation on each sample: slower than a plain step by
// those reads, otherwise bitwise the same.
struct StepProfile {
  StepResult result;
  // The plan's operations, followed by one for work that belongs to no single operation: zeroing
  // partial gradients and updating weights in one flat pass.
  std::vector<Operation> operations;
  std::vector<ThreadProfile> threads;
};

// What training needs for one micro-batch, known before anything is allocated.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::int64_t micro_batch() const = 0;
  // The whole trainer with this plan as its only one: weights, gradients, optimizer, activations,
  // workspace.
  virtual core::MemoryByUse memory() const = 0;
  virtual std::vector<Operation> operations() const = 0;
};

// Owns weights, gradients and optimizer state once, and one arena per plan. Used by one thread at a
// time.
class Trainer {
 public:
  virtual ~Trainer() = default;

  // Allocates for this micro-batch; later steps with it allocate nothing. Idempotent.
  virtual void prepare(std::int64_t micro_batch) = 0;
  virtual void release(std::int64_t micro_batch) = 0;

  // One weight update on `batch`, in passes of at most `micro_batch` samples.
  virtual StepResult step(const BatchView& batch, std::int64_t micro_batch) = 0;
  // The same step, timed per operation.
  virtual StepProfile profile(const BatchView& batch, std::int64_t micro_batch) = 0;
  // Loss and gradients of a batch without the update; the gradients stay readable below.
  virtual StepResult accumulate(const BatchView& batch, std::int64_t micro_batch) = 0;
  // Loss and accuracy with dropout off and running statistics; uses the evaluation plan.
  virtual StepResult evaluate(const BatchView& batch) = 0;

  // Loss and gradients of the network as in evaluate(), without randomness; they stay readable
  // below. Has its own plan, made by the first call. InputError on an engine that does not support
  // it.
  virtual StepResult evaluate_gradients(const BatchView& batch);

  virtual std::vector<Variable> variables() const = 0;
  // Of the trainable ones, after accumulate() or evaluate_gradients().
  virtual std::vector<Variable> gradients() const = 0;
  virtual double squared_gradient_norm() const;  // of these
  virtual void assign(std::span<const Variable> variables) = 0;
  // To resume from here any number of times, with this trainer. InputError on an engine that does
  // not support it.
  virtual Checkpoint checkpoint() const;
  virtual void restore(const Checkpoint& checkpoint);
  // With several ranks: replaces each rank's running statistics by the mean over all.
  virtual void average_statistics(collective::Group&) {}
  // The trainable weights in memory, to be read and changed between steps. InputError on an engine
  // that does not support it.
  virtual std::span<float> trainable_weights();
  virtual void set_learning_rate(double learning_rate) = 0;
  virtual std::uint32_t steps_done() const = 0;
};

}  // namespace sweetspot::engine
