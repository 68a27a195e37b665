#pragma once
#include <optional>
#include <vector>

#include "engine/cpu/ops/channel_runs.h"
#include "engine/cpu/ops/conv_input.h"

namespace sweetspot::engine::cpu {

// The input gradient of a convolution: a convolution of its output's gradient, in a frame of zeros,
// with the flipped kernel. With strides every input position meets only the taps of its phase, so
// each phase is a separate dense convolution and no zero between dilated gradients is multiplied.
// For few input channels it is the gradient of each patch instead, added where the patch was read:
// a register then holds several taps, not one tap and zeros.
class ConvGradient {
 public:
  explicit ConvGradient(const ConvGeometry& geometry);

  std::int64_t weight_floats() const { return g_.bf16 ? weight_floats_ / 2 : weight_floats_; }
  core::Bytes scratch_bytes() const;  // zeroed once, before the first use

  // Flips the weights, for some units of input channels.
  void turn_weights(const Pass& pass, float* to, int part, int parts) const;
  void compute(const Pass& pass, const float* weights, const float* gradient, std::byte* scratch,
               float* to, const Finish& finish = {}) const;

 private:
  // Input positions that meet the taps first, first + stride, … on each axis.
  struct Phase {
    std::int64_t first_line, first_column, lines, columns;  // of the taps
    std::int64_t weights;                                   // offset of its matrix
    std::vector<std::int32_t> rows, outputs, segments;
    std::optional<ChannelRuns> runs;  // of the output's channels
    std::int64_t depth(const ConvGeometry& g) const {
      return g.out.units() * lines * columns * unit;
    }
  };
  // `gradient` is framed, or the result is its patches.
  template <class Operand, class Kernel>
  void compute_phases(Kernel multiply, const float* weights, const Operand* gradient, float* to,
                      const Finish& finish) const;
  template <class Operand>
  void compute_patches(const Pass& pass, void (*multiply)(const Product<Operand>&),
                       const float* weights, const Operand* gradient, std::byte* scratch, float* to,
                       const Finish& finish) const;
  core::Bytes frame_bytes() const;
  std::int64_t gradient_numbers() const;
  void make_phases();
  Phase make_phase(std::int64_t line, std::int64_t column) const;
  const float* frame(const float* gradient, std::byte* scratch) const;
  // `to` is the phase's matrix, of floats or in bf16.
  template <class Operand, class Transpose>
  void turn_unit(const Pass& pass, const Phase& phase, Operand* to, std::int64_t unit_in,
                 Transpose transpose) const;

  ConvGeometry g_;
  std::int64_t top_, left_, height_, width_;  // the frame's padding and size
  std::int64_t columns_, weight_floats_ = 0;
  bool framed_, has_gaps_ = false;
  std::vector<Phase> phases_;
  std::optional<ConvInput> patches_;  // of few channels
  std::vector<std::int32_t> units_;   // where they begin in the output's gradient
};

}  // namespace sweetspot::engine::cpu
