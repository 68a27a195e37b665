#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Samples of a convolution that are processed together, and where their tensors are.
struct ConvImages {
  const Pass& pass;
  const Allocation &from, &to;
  Range samples;
  int thread;
};
// What is added to a product's outputs, and the activation applied to them.
struct Finish {
  const float* bias = nullptr;  // null: none
  bool relu = false;
};

// Applies the ReLU's mask to the gradients, if `value` is its output and not null, and adds them to
// bias (out.units(), 16).
void add_bias_gradient(const Pass& pass, const Extent& out, const float* value, float* gradient,
                       float* bias);

// The same after fused pooling, which `winner` is not null for, of some units.
void add_masked_bias(const Pass& pass, const ConvGeometry& geometry, const Range& units,
                     const std::uint8_t* winner, const float* value, float* gradient, float* bias);

// Keras' (height, width, in) row of the kernel → row of the weight matrix.
std::vector<std::int32_t> conv_rows(const ConvGeometry& geometry);

// Any convolution.
std::unique_ptr<Op> make_conv(std::string name, const ConvGeometry& geometry,
                              std::int64_t micro_batch, Tensor* in, Tensor* out);
// A transposed convolution: `geometry` and the weights are those of the convolution whose gradient
// it is, from the output to the input. `bias` and `relu` apply to the output.
std::unique_ptr<Op> make_transposed_conv(std::string name, const ConvGeometry& geometry,
                                         std::optional<std::size_t> bias, bool relu,
                                         std::int64_t micro_batch, Tensor* in, Tensor* out);
// Convolution, optional ReLU and max pooling in one pass, with backward passes over winners only.
std::unique_ptr<Op> make_conv_pool(std::string name, const ConvGeometry& geometry,
                                   std::int64_t micro_batch, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
