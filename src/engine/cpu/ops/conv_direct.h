#pragma once
#include "engine/cpu/ops/channel_runs.h"
#include "engine/cpu/ops/conv_input.h"

namespace sweetspot::engine::cpu {

// A convolution of one sample as a product with one row per output position, and its weight
// gradient.
class DirectConv {
 public:
  explicit DirectConv(const ConvGeometry& geometry);

  core::Bytes scratch_bytes() const { return scratch_bytes_; }  // zeroed once, before use
  // In bf16: the weights in pairs.
  std::int64_t weight_floats() const {
    return g_.bf16 ? g_.columns() * input_.rounded_depth() / 2 : 0;
  }
  void round_weights(const Pass& pass, float* to, int part, int parts) const {
    input_.round_weights(pass, reinterpret_cast<Bf16*>(to), part, parts);
  }

  // `rounded`: the result of round_weights, in bf16.
  void forward(const Pass& pass, const float* from, const float* rounded, std::byte* scratch,
               float* to) const;
  void add_weights(const Pass& pass, const float* from, const float* gradient, std::byte* scratch,
                   float* weights) const;

 private:
  template <class Operand, class Kernel>
  void multiply(const Pass& pass, const Operand* frame, const Operand* weights, std::int64_t depth,
                Kernel kernel, float* to) const;
  void add_weights_of_few(const Pass& pass, const float* frame, const float* gradient,
                          std::byte* scratch, float* weights) const;
  void add_rounded_weights(const Pass& pass, const float* frame, const float* gradient,
                           std::byte* scratch, float* weights) const;

  ConvGeometry g_;
  std::int64_t chunk_;  // rows whose patches are gathered at once
  ConvInput input_;
  std::optional<ChannelRuns> runs_;  // unless the input is compact
  // In bf16 two adjacent output positions are one row of the weights' product: the input next to a
  // copy shifted by a stride, or adjacent patches, and the gradient likewise.
  std::vector<std::int32_t> pair_offsets_;
  core::Bytes rounded_at_, gradients_at_, scratch_bytes_;
};

}  // namespace sweetspot::engine::cpu
