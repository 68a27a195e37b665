#pragma once
#include "engine/cuda/kernels/launch.h"

// Batch normalisation in one kernel that holds all values in registers: by single blocks, or by
// clusters of eight, which only Hopper's own code has.
namespace sweetspot::engine::cuda {

// `slices` blocks share the rows: 1 or 8. None: there are too many rows.
NormShares share_norm_held(int rows, bool pooled, int padded, bool clusters);
cudaError_t launch_norm_held(const NormPass& n, bool backward, cudaStream_t stream);
// For `slices` of eight.
cudaError_t launch_norm_in_clusters(const NormPass& n, bool backward, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
