#pragma once
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

// The forward pass of a convolution over up to four channels (few_channels.cu), with its ReLU.
struct FewChannels {
  ConvShape shape;  // its channels are padded to four
  int channels;     // without padding
  int count;        // samples
  Divider by_out, by_out_w, by_tiles;
  int filter_lanes, filter_tiles;  // eight filters per thread, this many threads per block
  bool relu;
  Function function;  // or another one
  const float *input, *weights, *bias;
  float* value;
  ValueTerms value_terms;
  std::uint8_t* code;  // null: not needed
};
// Whether it is supported: a block's kernels must fit into shared memory.
bool few_channels_support(const ConvShape& shape, int channels);
FewChannels few_channels_part(const ConvShape& shape, int channels, int count);
cudaError_t launch_few_channels(const FewChannels& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
