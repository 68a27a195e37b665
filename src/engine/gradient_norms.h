#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "convergence/noise_scale.h"
#include "engine/trainer.h"

namespace sweetspot::engine {

// The number of leading samples of a batch whose gradient gives the small norm of GradientNorms:
// part of one micro-batch, and few enough that their pass is cheap. At least 1.
std::int64_t small_part(std::int64_t batch, std::int64_t micro_batch);

// Steps between two passes over `small` extra samples, so that these passes take about 1% of the
// time. A step count decides and not a clock, so that the same seed gives the same noise scale.
std::int64_t steps_between_norms(std::int64_t batch, std::int64_t small);

// Which steps of a trainer measure what. The big norm is cheap, so each step computes it, and it is
// the one that is lost in noise: it is averaged over all steps from one small norm to the next,
// half of them before and half after, so that a steadily shrinking gradient has the same size in
// both.
class NormWindow {
 public:
  // Before a step: the number of samples for the small norm; 0 if none is wanted. nullopt if this
  // step's norms are unusable: a single sample, or an epoch's last batch.
  std::optional<std::int64_t> wants(std::int64_t batch, std::int64_t micro_batch);
  // After the step, with its norms. Returns both once there are enough.
  std::optional<convergence::GradientNorms> add(std::optional<double> small_squared,
                                                double big_squared);

 private:
  void begin(std::int64_t batch, std::int64_t micro_batch);

  std::int64_t batch_ = 0, last_batch_ = 0, small_ = 0, length_ = 0, steps_ = 0;
  double small_squared_ = 0, big_sum_ = 0;
};

// The squared norm of the batch's gradient at the current weights, without an update; leaves
// weights, optimizer and running statistics unchanged.
double squared_gradient_norm(Trainer& trainer, const model::Network& network,
                             const BatchView& batch, std::int64_t micro_batch);
// The same of what `accumulate` accumulates.
double squared_gradient_norm(Trainer& trainer, const model::Network& network,
                             const std::function<void()>& accumulate);

// The norms for a batch of at least two samples at the current weights, on any engine and without
// an update: passes over some parts of the batch and one over all of it. Expensive compared with
// TrainerOptions::gradient_norms, which hides most of that in a step. Leaves the trainer unchanged,
// as above.
convergence::GradientNorms gradient_norms(Trainer& trainer, const model::Network& network,
                                          const BatchView& batch, std::int64_t micro_batch);

}  // namespace sweetspot::engine
