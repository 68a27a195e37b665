#pragma once
#include "engine/cuda/kernels/patches.h"

namespace sweetspot::engine::cuda {

// A convolution with at most this many outputs per position (few_outputs.cu): forward with few
// filters, or the input gradient over few channels, which is the convolution of the output's
// gradient, spread by the strides, with the kernel by half a turn.
constexpr int most_outputs = 8;
struct FewOutputs {
  bool gradient;
  ConvShape shape;  // of that convolution: its channels are the depth, its filters the outputs
  Spread spread;
  int outputs;      // without padding
  bool fp32;        // no operand is rounded
  int count;        // samples
  Patches patches;  // of outputs; their pixels are the positions that these read
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
FewOutputs few_outputs_part(const ConvShape& shape, int outputs, int count, bool gradient,
                            bool fp32, int multiprocessors);
// Expected, of a multiprocessor.
double few_outputs_clocks(const FewOutputs& part, int multiprocessors);
cudaError_t launch_few_outputs(const FewOutputs& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
