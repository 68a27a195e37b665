#pragma once
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

// A convolution with at most this many outputs per position, in fp32 (few_outputs.cu): forward with
// few filters, or the input gradient over few channels, which without strides is the convolution of
// the output's gradient with the kernel by half a turn.
constexpr int most_outputs = 8;
struct FewOutputs {
  bool gradient;
  int in_h, in_w, depth;  // of what it reads, in floats of a position
  int out_h, out_w, outputs, pitch;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  std::int64_t positions;  // of all outputs
  Divider by_out, by_out_w, by_chunk;
  int lane_bits;  // log2 of the threads that share a position
  int chunk;      // of the depth, whose kernels are in shared memory at a time
  const float *input, *weights;
  // Forward:
  const float* bias;
  bool relu;
  Function function;  // or another one
  float* value;
  ValueTerms value_terms;
  std::uint8_t* code;  // null: not needed
  // Of the gradient:
  const std::uint8_t* let_through;  // null: all gradients pass
  float scale;                      // of the input's dropout
  Function input_function;          // as in GemmPart
  const float* input_value;
  float* input_gradient;
};
// Whether a convolution's forward pass, or its input's gradient, is of this kind.
bool few_outputs_support(const ConvShape& shape, int outputs, bool gradient);
FewOutputs few_outputs_part(const ConvShape& shape, int outputs, int count, bool gradient);
// Expected, of a multiprocessor.
double few_outputs_clocks(const FewOutputs& part, int multiprocessors);
cudaError_t launch_few_outputs(const FewOutputs& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
