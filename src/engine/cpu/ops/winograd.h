#pragma once
#include <span>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"

namespace sweetspot::engine::cpu {

// The forward pass of a convolution with 2×2 max pooling by Winograd: the inputs of a window are
// transformed, multiplied point by point, and transformed back into the pooled value.
class Winograd {
 public:
  // Square kernels of 3 to 5, stride 1, and enough channels to amortise the transforms.
  static bool fits(const ConvGeometry& geometry);

  // `samples`: those that are multiplied together, in bf16.
  Winograd(const ConvGeometry& geometry, std::int64_t samples);

  std::int64_t weight_floats() const {
    return points_ * g_.in.units() * unit * g_.columns() / (bf16_ ? 2 : 1);
  }
  bool bf16() const { return bf16_; }
  core::Bytes scratch_bytes() const;

  // Transforms the weights of some input channels into `to`.
  void transform_weights(const Pass& pass, float* to, int part, int parts) const;
  // `frame`: the input as framed by ConvInput.
  void forward(const Pass& pass, const ConvInput& input, const float* frame, const float* weights,
               std::byte* scratch, float* out, std::uint8_t* winner) const;

  // Several samples: each is transformed, its windows placed after those of the previous samples,
  // and then all are multiplied.
  struct Output {
    float* out;
    std::uint8_t* winner;
  };
  void transform(const Pass& pass, const ConvInput& input, const float* frame, std::int64_t index,
                 std::byte* scratch) const {
    transform_inputs(pass, input, frame, 0, windows_, index * windows_, scratch);
  }
  void finish(const Pass& pass, const float* weights, std::byte* scratch,
              std::span<const Output> samples) const;

 private:
  // Transforms the inputs of windows [first, first + windows), from `row` on.
  void transform_inputs(const Pass& pass, const ConvInput& input, const float* frame,
                        std::int64_t first, std::int64_t windows, std::int64_t row,
                        std::byte* to) const;
  void multiply(const Pass& pass, std::int64_t windows, std::int64_t column,
                const std::byte* transformed, const float* weights, float* products) const;
  core::Bytes product_offset() const;

  ConvGeometry g_;
  std::int64_t size_, points_, windows_, chunk_;
  bool bf16_;
  std::int64_t input_stride_, product_stride_;  // from one point to the next
};

}  // namespace sweetspot::engine::cpu
