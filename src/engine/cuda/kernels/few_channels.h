#pragma once
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

// The forward pass of a convolution over up to four channels (few_channels.cu, and on the tensor
// cores few_channels_products.cu), with its ReLU and dropout.
struct FewChannels {
  ConvShape shape;  // its channels are padded to four
  int channels;     // without padding
  int count;        // samples
  Divider by_out, by_out_w, by_tiles;
  int filter_lanes, filter_tiles;  // eight filters per thread, this many threads per block
  bool fp32;                       // no operand is rounded
  bool relu;
  Function function;  // or another one,
  int outputs;        // of these filters; the others are padding, which stays zero
  const float *input, *weights, *bias;
  float* value;
  ValueTerms value_terms;
  std::uint8_t* code;  // null: not needed
  DropoutMask dropout;
};
// Whether it pays: with many taps and channels, the tensor cores need enough positions.
constexpr int few_channel_rows = 48;  // taps and channels
bool few_channels_support(const ConvShape& shape, int channels, int count, Math math,
                          int multiprocessors);
FewChannels few_channels_part(const ConvShape& shape, int channels, int count);
cudaError_t launch_few_channels(const FewChannels& part, cudaStream_t stream);
// The same on the tensor cores.
constexpr int few_channels_warp_positions = 32;
bool few_channels_products_support(const ConvShape& shape, int channels, bool fp32);
cudaError_t launch_few_channels_products(const FewChannels& part, cudaStream_t stream);

// The input gradient of a convolution over a few more (few_channels_gradient.cu).
constexpr int most_gradient_channels = 8;
struct FewChannelsGradient {
  ConvShape shape;
  int channels;
  std::int64_t positions;  // of all inputs
  Divider by_in, by_in_w, by_stride_h, by_stride_w, by_filters;
  int lane_bits;  // log2 of the threads that share a position
  int turns;      // positions of each
  const float *gradient, *weights;
  const std::uint8_t* code;  // null: all gradients pass
  float scale;               // of the input's dropout
  Function input_function;   // of the input, as in GemmPart
  const float* input;
  float* input_gradient;
};
bool few_channels_gradient_support(const ConvShape& shape, int channels);
FewChannelsGradient few_channels_gradient_part(const ConvShape& shape, int channels, int count);
cudaError_t launch_few_channels_gradient(const FewChannelsGradient& part, cudaStream_t stream);

// The weight gradient of one over up to four channels (few_channels_weights.cu).
struct FewChannelsWeights {
  ConvShape shape;
  int channels, positions;
  Divider by_out, by_out_w;
  int width, chunks;   // taps of a thread, and threads per line of the kernel
  int vectors, tiles;  // of four filters: of a block, and blocks for all
  int sharers, groups;
  int splits, share;  // of the positions
  bool fp32;          // no operand is rounded
  bool products;      // on the tensor cores, where warps divide the taps
  int tap_parts;
  const float *input, *gradient;
  const std::uint8_t* code;  // null: all gradients pass
  float* partials;
  std::int64_t partial_stride;
  bool bias;
  StepState* state;  // set if the gradient is not finite
};
bool few_channels_weights_support(const ConvShape& shape, int channels);
FewChannelsWeights few_channels_weights_part(const ConvShape& shape, int channels, int count,
                                             int multiprocessors, bool fp32);
double few_channels_weights_clocks(const FewChannelsWeights& part, int multiprocessors);
// The same on the tensor cores (few_channels_weights_products.cu); false: not supported.
bool divide_weights_products(FewChannelsWeights& part, int multiprocessors);
double weights_products_clocks(const FewChannelsWeights& part, int multiprocessors);
cudaError_t launch_weights_products(const FewChannelsWeights& part, cudaStream_t stream);
cudaError_t launch_few_channels_weights(const FewChannelsWeights& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
