#pragma once
#include "engine/cuda/kernels/chip.h"
#include "engine/cuda/kernels/params.h"

// Every kernel's way in. Each returns the launch's error.
namespace sweetspot::engine::cuda {

cudaError_t launch_forward_fp32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_fp32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_forward_tf32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_tf32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_forward_bf16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_bf16(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_forward_fp16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_backward_fp16(const GemmParts& parts, cudaStream_t stream);

// Convolutions with samples and weights in shared memory: parts of TileKind::resident, of which
// `splits` blocks take `split_depth` samples at a time.
cudaError_t launch_resident_forward_fp32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_resident_backward_fp32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_fp32(const MergedBackward& parts, cudaStream_t stream);
cudaError_t launch_resident_forward_tf32(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_resident_backward_tf32(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_forward_tf32(const MergedForward& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_tf32(const MergedBackward& parts, cudaStream_t stream);
cudaError_t launch_resident_forward_bf16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_resident_backward_bf16(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_forward_bf16(const MergedForward& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_bf16(const MergedBackward& parts, cudaStream_t stream);
cudaError_t launch_resident_forward_fp16(const GemmPart& part, cudaStream_t stream);
cudaError_t launch_resident_backward_fp16(const GemmParts& parts, cudaStream_t stream);
cudaError_t launch_merged_forward_fp16(const MergedForward& parts, cudaStream_t stream);
cudaError_t launch_merged_backward_fp16(const MergedBackward& parts, cudaStream_t stream);

constexpr int resident_threads = 512, resident_warps = resident_threads / 32;
// To find a sample takes long: in the merged kernels the warps from here on look for it, while the
// others do what can be done without.
constexpr int sample_warp = resident_warps / 2;
// What such a part takes of it when `parts` blocks share a sample's row groups, and whether the
// kernel can run it at all.
std::int64_t resident_shared_bytes(GemmKind kind, const ConvShape& shape, int samples,
                                   int element_bytes, int parts = 1);
bool resident_supports(const ConvShape& shape);
// So many of a block's warps share a tile, each with some of the taps, where tiles are few.
__host__ __device__ inline int resident_sharing(int tiles, int taps) {
  int share = 1;
  while (2 * share * tiles <= resident_warps && (taps & (2 * share - 1)) == 0) share *= 2;
  return share;
}
// Whether `first`'s backward pass can follow that of `shape` in a block of its own sample, and the
// shared memory that takes.
bool merges(const ConvShape& first, const ConvShape& shape, const Chip& chip);
std::int64_t merged_shared_bytes(const ConvShape& first, const ConvShape& shape, int element_bytes);

// Convolution over few channels, ReLU, 2×2 max pooling; and its weights' gradients.
bool first_conv_supports(const ConvShape& shape);
// Fills in strips and dividers, when all else is set.
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
// Of values, or of their gradients.
cudaError_t launch_dropout(const DropoutPass& d, cudaStream_t stream);

struct PoolPass {
  bool max;
  int count, in_h, in_w, out_h, out_w, padded;
  int window_h, window_w, stride_h, stride_w, pad_top, pad_left;
  const float* from;
  float* to;
  void* winner;  // place in the window, for max
  // Backward: what the gradient goes on through, by its value.
  Function function;
  const float* value;
  // Whether places take 32 bits, rather than 16.
  bool wide_places() const { return std::int64_t{window_h} * window_w > 1 << 16; }
};
cudaError_t launch_pool(const PoolPass& p, cudaStream_t stream);
cudaError_t launch_pool_backward(const PoolPass& p, cudaStream_t stream);

constexpr int most_norm_columns = 32;
// How blocks share a normalisation: so many vectors of four features each, and slices of the rows.
struct NormShares {
  int columns = 1, slices = 1;
};
NormShares share_norm(int rows, int padded, int multiprocessors);

struct NormPass {
  int rows, padded;     // padded features in each row; the padding stays zero
  int pitch, channels;  // features come in runs of `pitch`, of which so many are no padding
  bool training;
  Function function;  // behind the normalisation, in the same pass
  bool pooled;  // 2×2 max pooling behind that: output and gradient have a row for each window
  int width;    // of the image that is pooled
  Divider by_windows_x;
  std::uint8_t* code;  // of each pooled value: which of its window's four it is
  float momentum, epsilon;
  const float *input, *gamma, *beta, *gradient;
  float *moving_mean, *moving_variance, *mean, *scale;  // mean and 1/σ of the micro-batch
  float *output, *input_gradient, *gamma_gradient, *beta_gradient;
  ValueTerms output_terms, input_gradient_terms;
  float* sums;  // of the input gradient's columns, or null: (sum_slices, padded)
  int sum_slices;
  int columns, slices;
  float *partials, *means;  // with several slices: (slices, 2, padded) and (2, padded)
  std::uint32_t* tickets;   // for each group of columns: the slices that are done
};
cudaError_t launch_norm(const NormPass& n, cudaStream_t stream);
cudaError_t launch_norm_backward(const NormPass& n, cudaStream_t stream);

// gradients = (adds ? gradients : 0) + Σ partials
cudaError_t launch_sum_partials(const Update& u, bool adds, cudaStream_t stream);
cudaError_t launch_update(const Update& u, cudaStream_t stream);
// history[state->slot] of a micro-batch: set by the first, added to by the others.
cudaError_t launch_record(const Update& u, bool adds, cudaStream_t stream);
// Adds the squared norm of the step's gradient to its record, behind its update or without one.
cudaError_t launch_squared_norm(const Update& u, bool updated, cudaStream_t stream);

// `count` weights from `from` on as operands, into element `at` of `to`.
struct Rounding {
  const float* from;
  void* to;
  std::int64_t at, count;
  Math math;
};
cudaError_t launch_rounding(const Rounding& r, cudaStream_t stream);

// Blocks that `segments` take in an update; fills in their first_block.
int lay_out_blocks(Segment* segments, int count);

#ifdef __CUDACC__
// With programmatic serialisation, where the device has it: the launch overlaps the end of the
// kernel before it.
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
