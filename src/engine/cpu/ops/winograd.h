#pragma once
#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"

namespace sweetspot::engine::cpu {

// The forward pass of a convolution with 2×2 max pooling by minimal filtering: the inputs of a
// window are transformed, multiplied point by point, and transformed back into the pooled value.
class Winograd {
 public:
  // Square kernels of 3 to 5, stride 1, and enough channels to pay for the transforms.
  static bool fits(const ConvGeometry& geometry);

  explicit Winograd(const ConvGeometry& geometry);

  std::int64_t weight_floats() const { return points_ * g_.in.units() * unit * g_.columns(); }
  core::Bytes scratch_bytes() const;

  // Transforms the weights of some input channels into `to`.
  void transform_weights(const Pass& pass, float* to, int part, int parts) const;
  // `frame`: the input as ConvInput frames it.
  void forward(const Pass& pass, const ConvInput& input, const float* frame, const float* weights,
               std::byte* scratch, float* out, std::uint8_t* winner) const;

 private:
  std::int64_t product_offset() const;

  ConvGeometry g_;
  std::int64_t size_, points_, windows_, chunk_;
};

}  // namespace sweetspot::engine::cpu
