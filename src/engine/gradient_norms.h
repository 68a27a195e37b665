#pragma once
#include <cstdint>

#include "engine/trainer.h"
#include "stats/noise_scale.h"

namespace sweetspot::engine {

// Samples at the front of a batch whose gradient by itself is the small one of GradientNorms: part
// of one micro-batch, and small enough that its pass is cheap. Nothing less than a batch of one.
std::int64_t small_part(std::int64_t batch, std::int64_t micro_batch);

// Steps from one measurement of a pass over `small` extra samples to the next, so that all of them
// take less than 2% of the time. A number of steps and not a clock decides, so that the same seed
// gives the same noise scale.
std::int64_t steps_between_norms(std::int64_t batch, std::int64_t small);

// The norms for a batch of at least two samples at the weights that there are, on any engine and
// without an update: passes over some parts of the batch and one over all of it. Dear beside
// TrainerOptions::gradient_norms, which hides most of that in a step; leaves
// weights, optimizer and running statistics as they were.
stats::GradientNorms gradient_norms(Trainer& trainer, const model::Network& network,
                                    const BatchView& batch, std::int64_t micro_batch);

}  // namespace sweetspot::engine
