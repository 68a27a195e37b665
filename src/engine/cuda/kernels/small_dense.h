#pragma once
#include "engine/cuda/kernels/launch.h"

// A dense layer of few weights with few samples, and the batch normalisation and activation behind
// it, if any: one kernel forward and one backward, since what it costs is latency. A block has all
// samples of its features, so it needs no other block for their statistics.
namespace sweetspot::engine::cuda {

constexpr int small_most_samples = 16;
constexpr int few_samples_alone = 4;  // without a normalisation behind it more are not faster
// A block's filters forward; backward its inputs, or its part of the weight gradient.
constexpr int small_filters = 16, small_inputs = 16, small_rows = 64, small_columns = 128;

// The normalisation behind the layer, whose value is in GemmPart::value.
struct SmallNorm {
  bool exists;
  int channels;  // the others are padding
  Function function;
  float momentum, epsilon;
  const float *gamma, *beta;                            // or null
  float *moving_mean, *moving_variance, *mean, *scale;  // mean and 1/σ of the micro-batch
  float* output;                                        // normalised and activated
  float *gamma_gradient, *beta_gradient;                // or null
};
struct SmallDense {
  GemmPart part;  // backward: its gradient is that of the output
  SmallNorm norm;
  int data_blocks, weight_blocks;  // backward
};

// Whether all samples' values of one side fit into a block's shared memory.
bool small_dense_supports(const ConvShape& shape);
cudaError_t launch_small_dense(const SmallDense& d, cudaStream_t stream);
cudaError_t launch_small_dense_backward(const SmallDense& d, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
