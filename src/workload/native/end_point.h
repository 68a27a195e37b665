#pragma once
#include <atomic>
#include <optional>

#include "data/pipeline.h"
#include "engine/trainer.h"

namespace sweetspot::workload::native {

// How the loss lies where training ended, over training samples, with dropout off.
struct EndPoint {
  double sharpness = 0;  // the largest eigenvalue of the loss's Hessian
  bool converged = false;
  double train_loss = 0;
  std::int64_t samples = 0;
};

// The samples that every end point of a data set is judged on: some thousands of them at random,
// always the same.
data::PipelineOptions end_point_pipeline(const data::Samples& train);

// Leaves the weights as they are. `batches` has the options above and has not been started. Nothing
// once stopped.
std::optional<EndPoint> end_point(engine::Trainer& trainer, data::Pipeline& batches,
                                  const std::atomic<int>& stop);

}  // namespace sweetspot::workload::native
