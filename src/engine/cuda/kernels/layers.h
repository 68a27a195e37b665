#pragma once
#include "engine/cuda/kernels/params.h"
#include "engine/layers.h"

// Layers other than products, pooling and batch normalisation. Tensors are (count, height, width,
// channels padded to a multiple of four), and the padding stays zero.
namespace sweetspot::engine::cuda {

struct Plane {
  int height, width, channels, pitch;
  __host__ __device__ int floats() const { return height * width * pitch; }
};

struct FunctionPass {
  engine::ElementFunction function;
  std::int64_t count;  // floats
  int channels, padded;
  const float *known, *gradient;  // the input; or input or output, see derives_from_input
  float* to;
  DropoutMask dropout;  // after it, if its slope derives from the input; a sample has no padding
  int samples, sample_floats;
};
cudaError_t launch_function(const FunctionPass& f, cudaStream_t stream);
cudaError_t launch_function_backward(const FunctionPass& f, cudaStream_t stream);

struct ScaleShift {
  float scale, shift;
  std::int64_t count;
  int channels, padded;
  const float* from;
  float* to;
};
cudaError_t launch_scale_shift(const ScaleShift& s, cudaStream_t stream);

// Normal noise, or dropout of whole channels: regenerated in the backward pass.
struct NoisePass {
  DropoutMask mask;
  float stddev;  // of the noise
  int count;
  Plane plane;
  const float* from;
  float* to;
};
cudaError_t launch_noise(const NoisePass& n, cudaStream_t stream);
cudaError_t launch_channel_dropout(const NoisePass& n, cudaStream_t stream);

struct BorderPass {
  int count, top, left, spread_h, spread_w;
  Plane in, out;
  const float* from;
  float* to;
};
cudaError_t launch_border(const BorderPass& b, cudaStream_t stream);
cudaError_t launch_border_backward(const BorderPass& b, cudaStream_t stream);

struct RepeatPass {
  int count, height, width, channels;
  Plane in, out;
  const float* from;
  float* to;
};
cudaError_t launch_repeat(const RepeatPass& r, cudaStream_t stream);
cudaError_t launch_repeat_backward(const RepeatPass& r, cudaStream_t stream);

// Element (y, x, c) of the output is element y · strides[0] + x · strides[1] + c · strides[2] of
// the input in Keras' order. The backward pass has the same form.
struct RearrangePass {
  int count;
  Plane in, out;
  int strides[3];
  const float* from;
  float* to;
};
cudaError_t launch_rearrange(const RearrangePass& r, cudaStream_t stream);

// Groups of `floats` values; of each `pitch` of them `channels` count.
struct LayerNormPass {
  std::int64_t groups;
  int floats, channels, pitch;
  float epsilon;
  const float *input, *gamma, *beta, *gradient;
  float *output, *mean, *rate;
  float* input_gradient;  // or null
  // For gamma and beta, or null: `splits` copies, `floats` apart.
  float *gamma_partials, *beta_partials;
  int splits;
};
cudaError_t launch_layer_norm(const LayerNormPass& n, cudaStream_t stream);
cudaError_t launch_layer_norm_weights(const LayerNormPass& n, cudaStream_t stream);
cudaError_t launch_layer_norm_data(const LayerNormPass& n, cudaStream_t stream);
int layer_norm_splits(std::int64_t groups, int floats, int multiprocessors);

// Alpha of (y, x, c) is at y · stride_y + x · stride_x + c · stride_c: 0 along a shared axis.
struct PreluPass {
  int count;
  Plane plane;
  int stride_y, stride_x, stride_c;
  int alphas, alpha_w, alpha_c;  // in all, and along the last two axes
  const float *input, *alpha, *gradient;
  float *output, *input_gradient;  // the latter or null
  float* partials;                 // `splits` copies, `partial_stride` apart
  int splits;
  std::int64_t partial_stride;
};
cudaError_t launch_prelu(const PreluPass& p, cudaStream_t stream);
cudaError_t launch_prelu_backward(const PreluPass& p, cudaStream_t stream);
int prelu_splits(std::int64_t elements, int alphas);

struct DepthwisePass {
  int count;
  Plane in, out;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  bool relu;
  const float *input, *weights, *bias;  // (taps, pitch); bias or null
  float* output;                        // with relu, the backward pass reads it
  float* gradient;                      // with relu, masked first
  float* input_gradient;                // or null
  // How these four are stored; what is read is floats or one term, floats only with relu.
  ValueTerms input_terms, output_terms, gradient_terms, input_gradient_terms;
  StepState* state;  // learns of an overflow, if the gradient is one term of fp16
  float* partials;   // `splits` copies of taps and bias, `partial_stride` apart
  int splits;
  std::int64_t partial_stride;
  Divider by_in_width, by_in_height, by_out_width, by_out_height;
  __host__ __device__ int taps() const { return kernel_h * kernel_w; }
};
cudaError_t launch_depthwise(const DepthwisePass& d, cudaStream_t stream);
// With relu, masks the gradient for the next two.
cudaError_t launch_depthwise_mask(const DepthwisePass& d, cudaStream_t stream);
cudaError_t launch_depthwise_data(const DepthwisePass& d, cudaStream_t stream);
cudaError_t launch_depthwise_weights(const DepthwisePass& d, cudaStream_t stream);
int depthwise_splits(const DepthwisePass& d, std::int64_t count, int multiprocessors);

// Keras' regularizers: l1 · |w| + l2 · w² of each weight, in every sample's loss, and its slope in
// the partial gradients of those weights.
struct Penalty {
  std::int64_t weights, count, partials;  // offsets
  float l1, l2;
};
constexpr int most_penalties = 32;
constexpr int penalty_sums = 128;
struct PenaltyPass {
  Penalty penalties[most_penalties];
  int penalty_count;
  const float* weights;
  double* sums;  // penalty_sums of them
  float* losses;
  int samples;
  float* partials;
  const StepState* state;  // gradients carry its loss scale
};
cudaError_t launch_penalty_loss(const PenaltyPass& p, cudaStream_t stream);
cudaError_t launch_penalty_gradients(const PenaltyPass& p, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
