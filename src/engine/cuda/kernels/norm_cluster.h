#pragma once
#include "engine/cuda/kernels/launch.h"

// Batch normalisation in one kernel by clusters of blocks, which only Hopper's own code has. More
// rows than one block reads twice from its own cache are divided among the blocks of a cluster.
namespace sweetspot::engine::cuda {

// No slices: another kernel is faster.
NormShares share_norm_in_clusters(int rows, int padded, int multiprocessors);
cudaError_t launch_norm_in_clusters(const NormPass& n, cudaStream_t stream);
cudaError_t launch_norm_backward_in_clusters(const NormPass& n, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
