#pragma once
#include "engine/cuda/kernels/patches.h"

namespace sweetspot::engine::cuda {

constexpr int most_few_filters = 8;

// The forward pass of a convolution over up to four channels (few_channels.cu, and on the tensor
// cores few_channels_products.cu), with its ReLU and dropout. Or, on the tensor cores, the input
// gradient of one with few filters, where `shape` is `swapped`.
struct FewChannels {
  ConvShape shape;  // its channels are padded to four
  int channels;     // without padding
  int count;        // samples
  Divider by_out, by_out_w, by_tiles;
  int filter_lanes, filter_tiles;  // eight filters per thread, this many threads per block
  bool fp32;                       // no operand is rounded
  bool relu;
  Function function;  // or another one
  const float *input, *weights, *bias;
  float* value;
  ValueTerms value_terms;
  std::uint8_t* code;  // null: not needed
  DropoutMask dropout;
  // Of the gradient, whose `input` passes where `let_through`, if any, says so:
  bool gradient;
  const std::uint8_t* let_through;
  float scale;         // of the input's dropout
  const float* known;  // the input, for its `function`
  Patches patches;     // on the tensor cores
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
// Expected, of a multiprocessor.
double few_channels_products_clocks(const FewChannels& part, int multiprocessors);
cudaError_t launch_few_channels_products(const FewChannels& part, cudaStream_t stream);

// The weight gradient of one over up to four channels, in fp32 (few_channels_weights.cu) or on the
// tensor cores (few_channels_weights_products.cu); there also that of one with few filters, where
// `shape` is `swapped`: input and output change places, and so do what is read of them.
struct FewChannelsWeights {
  ConvShape shape;
  int channels, positions;
  Divider by_out, by_out_w;
  int width, chunks;   // taps of a thread, and threads per line of the kernel
  int vectors, tiles;  // of four filters: of a block, and blocks for all
  int sharers, groups;
  int splits, share;  // of the positions, or of the patches
  bool fp32;          // no operand is rounded
  bool products;      // on the tensor cores, where blocks and their warps divide the rows
  bool swapped;       // a convolution with few filters
  int row_blocks, block_rows, parts;
  Patches patches;
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
// The same for few filters.
bool few_filters_weights_support(const ConvShape& shape, int filters);
FewChannelsWeights few_filters_weights_part(const ConvShape& shape, int filters, int count,
                                            int multiprocessors, bool fp32);
// What the smaller count of a batch's last samples has for each of `splits`.
void divide_among(FewChannelsWeights& part, int splits);
// On the tensor cores; false: not supported.
bool divide_weights_products(FewChannelsWeights& part, int count, int multiprocessors);
double weights_products_clocks(const FewChannelsWeights& part, int multiprocessors);
cudaError_t launch_weights_products(const FewChannelsWeights& part, cudaStream_t stream);
cudaError_t launch_few_channels_weights(const FewChannelsWeights& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
