#pragma once
#include "engine/cuda/kernels/patches.h"

namespace sweetspot::engine::cuda {

// A convolution with so few outputs per position that all of its taps have at most 32 of them
// (tap_products.cu): forward with few filters, or the input gradient over few channels, which is
// the convolution of the output's gradient, spread by the strides, with the kernel by half a turn.
struct TapProducts {
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
// Whether it pays for a convolution's forward pass, or its input's gradient; others with few
// outputs read each position once per tap (few_outputs.cu).
bool tap_products_pay(const ConvShape& shape, int outputs, int count, bool gradient,
                      int multiprocessors);
TapProducts tap_products_part(const ConvShape& shape, int outputs, int count, bool gradient,
                              bool fp32, int multiprocessors);
cudaError_t launch_tap_products(const TapProducts& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
