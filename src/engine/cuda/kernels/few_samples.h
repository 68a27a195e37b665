#pragma once
#include "engine/cuda/kernels/in_place.h"
#include "engine/cuda/kernels/launch.h"

// Products of a dense layer with few samples. Blocks have this many filters; backward, this many
// inputs, or this part of the weight gradient.
namespace sweetspot::engine::cuda {

constexpr int thin_most_samples = 16;
constexpr int thin_filters = 32, thin_inputs = 32, thin_rows = 64, thin_columns = 128;

// Sums of a tile in one split, which are then added.
inline int thin_forward_floats(std::int64_t samples) {
  return (samples <= 4 ? 4 : thin_most_samples) * thin_filters;
}
inline int thin_data_floats(std::int64_t samples) {
  return (samples <= 4 ? 4 : thin_most_samples) * thin_inputs;
}

cudaError_t launch_thin_forward(const GemmPart& part, cudaStream_t stream);
// The gradient of the input, if it has blocks, and that of the weights.
cudaError_t launch_thin_backward(const GemmParts& parts, cudaStream_t stream);
// The weight gradient, applied directly and never stored in memory.
struct ThinUpdate {
  GemmPart part;
  InPlaceUpdate update;  // from the kernel on, which the bias follows
};
cudaError_t launch_thin_update(const ThinUpdate& u, cudaStream_t stream);
// The same with the gradient of the input, whose part it takes, of up to so many samples.
constexpr int thin_fused_samples = 4;
cudaError_t launch_thin_data_update(const ThinUpdate& u, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
