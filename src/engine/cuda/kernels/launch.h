#pragma once
#include "engine/cuda/kernels/chip.h"
#include "engine/cuda/kernels/params.h"

// The launch functions of all kernels. Each returns the launch's error.
namespace sweetspot::engine::cuda {

cudaError_t launch_forward_fp32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_fp32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_forward_tf32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_tf32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_forward_bf16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_bf16(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_forward_fp16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_fp16(const GemmParts& parts, cudaStream_t stream);

// Convolutions with samples and weights in shared memory: parts of TileKind::on_chip, of which
// `splits` blocks take `split_depth` samples at a time.
cudaError_t launch_on_chip_forward_fp32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_on_chip_backward_fp32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_fp32(const MergedBackward& parts, cudaStream_t stream);
cudaError_t launch_on_chip_forward_tf32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_on_chip_backward_tf32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_forward_tf32(const MergedForward& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_tf32(const MergedBackward& parts, cudaStream_t stream);
cudaError_t launch_on_chip_forward_bf16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_on_chip_backward_bf16(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_forward_bf16(const MergedForward& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_bf16(const MergedBackward& parts, cudaStream_t stream);
cudaError_t launch_on_chip_forward_fp16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_on_chip_backward_fp16(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_forward_fp16(const MergedForward& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_fp16(const MergedBackward& parts, cudaStream_t stream);

constexpr int on_chip_threads = 512, on_chip_warps = on_chip_threads / 32;
// Locating a sample takes long: in the merged kernels the warps from here on do it, while the
// others do what does not depend on it.
constexpr int sample_warp = on_chip_warps / 2;
// The shared memory of such a part when `parts` blocks share a sample's row groups, and whether the
// kernel supports it at all.
std::int64_t on_chip_shared_bytes(GemmKind kind, const ConvShape& shape, int samples,
                                  int element_bytes, int parts = 1);
bool on_chip_supports(const ConvShape& shape);
// This many of a block's warps share a tile, each with some of the taps, if tiles are few.
__host__ __device__ inline int on_chip_sharing(int tiles, int taps) {
  int share = 1;
  while (2 * share * tiles <= on_chip_warps && (taps & (2 * share - 1)) == 0) share *= 2;
  return share;
}
// Whether `first`'s backward pass can follow that of `shape` in the block of the same sample, and
// the shared memory it needs.
bool merges(const ConvShape& first, const ConvShape& shape, const Chip& chip);
std::int64_t merged_shared_bytes(const ConvShape& first, const ConvShape& shape, int element_bytes);

// Convolution over few channels, ReLU, 2×2 max pooling; and its weight gradients.
bool first_conv_supports(const ConvShape& shape);
// Fills in strips and dividers, after everything else is set.
void set_strips(FirstConv& conv);
cudaError_t launch_first_conv(const FirstConv& conv, cudaStream_t stream);
cudaError_t launch_first_conv_weights(const FirstConv& conv, cudaStream_t stream);

constexpr int head_most_outputs = 16, head_most_depth = 1024;
cudaError_t launch_head(const Head& head, cudaStream_t stream);

// `values` and `gradients` hold (count, positions, padded channels).
struct LossTensors {
  const float* outputs;
  float* gradient;  // null in evaluation
  int positions, channels, padded;
};
cudaError_t launch_loss(const Head& head, const LossTensors& tensors, cudaStream_t stream);

cudaError_t launch_gather(const Source& source, int count, int full_h, int full_w, int channels,
                          int live_h, int live_w, int padded, float* to, cudaStream_t stream);

struct Elementwise {
  Function function;
  std::int64_t count;
  int channels, padded;
  const float *input, *output, *gradient;
  float* to;
};
cudaError_t launch_activation(const Elementwise& e, cudaStream_t stream);
cudaError_t launch_activation_backward(const Elementwise& e, cudaStream_t stream);

struct DropoutPass {
  DropoutMask mask;
  std::int64_t sample_floats;
  int count, width, channels, padded;
  const float* from;
  float* to;
};
// For values, or for their gradients.
cudaError_t launch_dropout(const DropoutPass& d, cudaStream_t stream);

struct PoolPass {
  bool max;
  int count, in_h, in_w, out_h, out_w, padded;
  int window_h, window_w, stride_h, stride_w, pad_top, pad_left;
  const float* from;
  float* to;
  void* winner;  // position in the window, for max
  // Backward: the function that the gradient is passed through, from its value.
  Function function;
  const float* value;
  // Whether positions take 32 bits, rather than 16.
  bool wide_places() const { return std::int64_t{window_h} * window_w > 1 << 16; }
};
cudaError_t launch_pool(const PoolPass& p, cudaStream_t stream);
cudaError_t launch_pool_backward(const PoolPass& p, cudaStream_t stream);

// gradients = (adds ? gradients : 0) + Σ partials
cudaError_t launch_sum_partials(const Update& u, bool adds, cudaStream_t stream);
cudaError_t launch_update(const Update& u, cudaStream_t stream);
// Updates history[state->slot]: the first micro-batch sets it, the others add to it.
cudaError_t launch_record(const Update& u, bool adds, cudaStream_t stream);
// Adds the squared norm of the step's gradient to its record, after its update or without one.
cudaError_t launch_squared_norm(const Update& u, bool updated, cudaStream_t stream);

// `count` weights from `from` on as operands, into element `at` of `to`.
struct Rounding {
  const float* from;
  void* to;
  std::int64_t at, count;
  Math math;
};
cudaError_t launch_rounding(const Rounding& r, cudaStream_t stream);

// The number of blocks of `segments` in an update; fills in their first_block.
int lay_out_blocks(Segment* segments, int count);

#ifdef __CUDACC__
// With programmatic stream serialization, if the device has it: the launch overlaps the end of the
// previous kernel.
template <class Argument>
cudaError_t launch(void (*kernel)(Argument), dim3 blocks, int threads, int bytes,
                   cudaStream_t stream, const Argument& argument) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks, config.blockDim = threads;
  config.dynamicSmemBytes = bytes, config.stream = stream;
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early, config.numAttrs = current_chip().programmatic;
  return cudaLaunchKernelEx(&config, kernel, argument);
}
#endif

}  // namespace sweetspot::engine::cuda
