#pragma once
#include <span>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"

namespace sweetspot::engine::cpu {

// The gradients of a pooled convolution's winners in bf16, two winners at a time: to the weights
// channel by channel, to the input position by position, so that a position's contribution to its
// patch is summed in registers.
class RoundedWinners {
 public:
  // Requires pairs of input units, and kernels and windows that the kernels support.
  static bool fits(const ConvGeometry& geometry);

  // `samples`: those whose winners are added to the weights together.
  RoundedWinners(const ConvGeometry& geometry, const ConvInput& input, std::int64_t samples);

  std::int64_t weight_floats() const { return g_.depth() * g_.columns() / 2; }
  core::Bytes scratch_bytes() const { return scratch_bytes_; }

  // The weights of some units of output channels, for the gradient to the input.
  void turn_weights(const Pass& pass, float* to, int part, int parts) const;
  // The gradient of the pooled output, zero where no winner takes any.
  struct Sample {
    const float* gradient;
    const std::uint8_t* winner;
  };
  // `frame`: one sample's input as framed by ConvInput.
  void take_input(const Pass& pass, const float* frame, std::int64_t index,
                  std::byte* scratch) const;
  void add_weights(const Pass& pass, std::span<const Sample> samples, std::byte* scratch,
                   float* weights) const;
  void add_input(const Pass& pass, const Sample& sample, const float* turned, std::byte* scratch,
                 float* frame_gradient) const;

 private:
  // Lists of up to `most` winners, one after the other.
  void begin_lists(std::byte* scratch, std::int64_t count, std::int64_t most) const;

  ConvGeometry g_;
  std::int64_t samples_, frame_plane_, frame_width_, windows_;
  // Offset of the kernel's first tap at each window, padded to 16, one sample after the other.
  std::vector<std::int32_t> window_offsets_;
  std::vector<std::int32_t> slot_offsets_;  // 16
  core::Bytes input_at_, lists_at_, offsets_at_, gradients_at_, scratch_bytes_;
};

}  // namespace sweetspot::engine::cpu
