#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/buffer.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// One completed weight update.
struct Update {
  engine::StepResult result;
  std::int64_t samples = 0;
};

// Sums over the samples of an epoch or of the test split.
struct Sums {
  double loss = 0;
  std::int64_t correct = 0, samples = 0;
  bool stopped = false;  // before or soon after all samples

  void add(const engine::StepResult& step, std::int64_t count) {
    loss += step.loss * static_cast<double>(count);
    correct += step.correct;
    samples += count;
  }
  double mean_loss() const { return loss / static_cast<double>(samples); }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
};

// The result of an epoch.
struct EpochEnd {
  Sums sums;
  std::int64_t steps = 0;
  bool diverged = false;
};

// How a run's samples reach the engine, epoch by epoch. All its memory is allocated at
// construction.
class Epochs {
 public:
  virtual ~Epochs() = default;
  virtual engine::Trainer& trainer() = 0;

  virtual void start(std::uint32_t epoch) = 0;
  // From the next update on: one of the options' batches. Allocates nothing.
  virtual void set_batch(std::int64_t batch) = 0;
  // The next updates, at most this many, and no more than take about a twentieth of a second; none
  // at the end of the epoch, or once stopped. Valid until the next call.
  virtual std::span<const Update> next(std::int64_t most) = 0;
  // Waiting for data since the epoch began.
  virtual core::Seconds waited() const = 0;

  // The squared norm of the gradient over these training samples at the current weights, which
  // leaves the training as it is; nullopt if they are not where the engine is.
  virtual std::optional<double> squared_norm_of(std::span<const std::uint32_t> /*samples*/,
                                                std::int64_t /*micro_batch*/) {
    return std::nullopt;
  }

  // For ranks that went through the epoch independently: combines their results, which the trainer
  // has from then on. Called by every rank.
  virtual void gather(EpochEnd&) {}
  // The staleness histogram of this rank's updates, if they can be stale.
  virtual std::vector<std::int64_t> staleness() const { return {}; }

  // The test split; part of it once stopped. Every rank gets the sums of all.
  virtual Sums evaluate() = 0;
  virtual core::MemoryByUse memory() const = 0;  // what it holds now
};

// On the options' device. `run` and `stop` must outlive it.
std::unique_ptr<Epochs> make_epochs(const Run& run, const Options& options,
                                    const std::atomic<int>& stop);

// Batches from the pipeline: on the CPU, and on a GPU.
std::unique_ptr<Epochs> make_cpu_epochs(const Run& run, const Options& options,
                                        const std::atomic<int>& stop);
std::unique_ptr<Epochs> make_fed_gpu_epochs(const Run& run, const Options& options,
                                            const std::atomic<int>& stop);
// The data set is on the GPU.
std::unique_ptr<Epochs> make_resident_epochs(const Run& run, const Options& options,
                                             const std::atomic<int>& stop);

// The same epochs of a trainer whose steps report only the norm of their batch, as on a GPU: from
// time to time, in about 1% of the time, that of a small batch is measured between two of them, and
// an update has both. `run` must outlive it.
std::unique_ptr<Epochs> with_gradient_norms(std::unique_ptr<Epochs> epochs, const Run& run,
                                            const Options& options);

// The micro-batch of its passes for this batch: one of their own, as large as a pass, if that is
// worth its memory. nullopt: the batch's.
std::optional<std::int64_t> pass_plan(const model::Network& network, const Options& options,
                                      const data::Dataset& dataset, std::int64_t batch);

// Between two returns to the host; StepsPerCall aims at half as much again, a twentieth of a
// second.
constexpr double least_epoch_part_seconds = 0.033;

}  // namespace sweetspot::workload::native
