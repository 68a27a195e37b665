#pragma once
#include "engine/cpu/ops/conv_input.h"

namespace sweetspot::engine::cpu {

// A convolution of one sample as a product, a row for each output position, and its gradient to the
// weights.
class DirectConv {
 public:
  explicit DirectConv(const ConvGeometry& geometry);

  core::Bytes scratch_bytes() const { return input_.scratch_bytes(); }  // zeroed once, before use

  void forward(const Pass& pass, const float* from, std::byte* scratch, float* to) const;
  void add_weights(const Pass& pass, const float* from, const float* gradient, std::byte* scratch,
                   float* weights) const;

 private:
  ConvGeometry g_;
  std::int64_t chunk_;  // rows whose patches are gathered at once
  ConvInput input_;
};

}  // namespace sweetspot::engine::cpu
