#pragma once
#include <atomic>
#include <optional>

#include "data/pipeline.h"
#include "engine/trainer.h"

namespace sweetspot::workload::native {

// Sharpness and loss where training ended, over training samples, with dropout off.
struct EndPoint {
  double sharpness = 0;  // the largest eigenvalue of the loss's Hessian
  bool converged = false;
  double train_loss = 0;
  std::int64_t samples = 0;
};

// The samples on which every end point of a data set is judged: some thousands at random, always
// the same.
data::PipelineOptions end_point_pipeline(const data::Samples& train);

// Leaves the weights unchanged. `batches` has the options above and has not been started. nullopt
// once stopped.
std::optional<EndPoint> end_point(engine::Trainer& trainer, data::Pipeline& batches,
                                  const std::atomic<int>& stop);

}  // namespace sweetspot::workload::native
