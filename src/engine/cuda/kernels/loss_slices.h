#pragma once
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

// The squared error of many outputs without a softmax, in one pass: blocks divide each sample, and
// the last one of a sample to finish adds the sums of all, in order.
struct LossSlice {
  double loss;
  float best, highest;  // of the outputs and of the targets, and where they are
  int best_at, highest_at;
};
struct LossSlices {
  int slices;              // of a sample
  LossSlice* sums;         // (count, slices), if there are several
  std::uint32_t* tickets;  // (count), zero between launches
};
// 0: other losses, and few outputs, have no slices.
int loss_slices(LossKind loss, bool softmax, const LossTensors& tensors, std::int64_t count,
                int multiprocessors);
cudaError_t launch_sliced_loss(const Head& head, const LossTensors& tensors,
                               const LossSlices& slices, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
