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

// The weight gradient, applied directly and never stored in memory; and the gradient of the input,
// if the part has a place for it. Blocks have a tile of the inputs (tiles_n) and a split of the
// filters (split_depth columns).
struct ThinUpdate {
  GemmPart part;
  InPlaceUpdate update;  // from the kernel on, which the bias follows
  int samples;           // of the tiles
};
cudaError_t launch_thin_update(const ThinUpdate& u, cudaStream_t stream);

// The most inputs and filters of a block: the gradients of more samples take shared memory, and are
// worth reading only for more inputs.
constexpr int thin_update_rows(int samples) { return samples <= 4 ? 16 : 32; }
constexpr int thin_most_columns(int samples) { return samples <= 4 ? 1024 : 512; }
struct ThinUpdateTiles {
  int samples = 4;  // or thin_most_samples
  int tiles = 1, splits = 1, columns = 128;
  int floats() const { return samples * thin_update_rows(samples); }  // a tile's sums in one split
};
// The widest columns, since they read memory in the longest pieces, that leave few threads without
// a filter and every multiprocessor two blocks.
ThinUpdateTiles thin_update_tiles(const ConvShape& shape, std::int64_t samples, const Chip& chip);

}  // namespace sweetspot::engine::cuda
