#pragma once
#include <cstdint>
#include <optional>

#include "convergence/noise_scale.h"
#include "engine/trainer.h"

namespace sweetspot::engine {

// Samples at the front of a batch whose gradient by itself is the small one of GradientNorms: part
// of one micro-batch, and small enough that its pass is cheap. Nothing less than a batch of one.
std::int64_t small_part(std::int64_t batch, std::int64_t micro_batch);

// Steps from one pass over `small` extra samples to the next, so that all of them take about 1% of
// the time. A number of steps and not a clock decides, so that the same seed
// gives the same noise scale.
std::int64_t steps_between_norms(std::int64_t batch, std::int64_t small);

// Which steps of a trainer measure what. The big norm is cheap, so each step has it, and it is the
// one that is lost in noise: it is averaged over all steps from one small norm to the next, half of
// them before and half behind, so that a gradient that shrinks evenly is of the same size in both.
class NormWindow {
 public:
  // Before a step: of how many samples the small norm is to be; 0: none is wanted. Nothing where
  // this step's norms are of no use: a single sample, or an epoch's last batch.
  std::optional<std::int64_t> wants(std::int64_t batch, std::int64_t micro_batch);
  // After it, where they are. Gives both once there are enough.
  std::optional<convergence::GradientNorms> add(std::optional<double> small_squared,
                                                double big_squared);

 private:
  void begin(std::int64_t batch, std::int64_t micro_batch);

  std::int64_t batch_ = 0, last_batch_ = 0, small_ = 0, length_ = 0, steps_ = 0;
  double small_squared_ = 0, big_sum_ = 0;
};

// The squared norm of the batch's gradient at the weights that there are, without an update; leaves
// weights, optimizer and running statistics as they were.
double squared_gradient_norm(Trainer& trainer, const model::Network& network,
                             const BatchView& batch, std::int64_t micro_batch);

// The norms for a batch of at least two samples at the weights that there are, on any engine and
// without an update: passes over some parts of the batch and one over all of it. Dear beside
// TrainerOptions::gradient_norms, which hides most of that in a step; leaves the trainer as the one
// above does.
convergence::GradientNorms gradient_norms(Trainer& trainer, const model::Network& network,
                                          const BatchView& batch, std::int64_t micro_batch);

}  // namespace sweetspot::engine
