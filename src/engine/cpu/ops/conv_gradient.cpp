#include "engine/cpu/ops/conv_gradient.h"

#include <algorithm>
#include <type_traits>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {

ConvGradient::ConvGradient(const ConvGeometry& geometry)
    : g_(geometry),
      top_(pieces(g_.kernel.height, g_.strides.height) - 1),
      left_(pieces(g_.kernel.width, g_.strides.width) - 1),
      height_(top_ +
              std::max(g_.out.height, (g_.in.height - 1 + g_.pad_top) / g_.strides.height + 1)),
      width_(left_ +
             std::max(g_.out.width, (g_.in.width - 1 + g_.pad_left) / g_.strides.width + 1)),
      columns_(g_.in.units() * unit),
      framed_(height_ != g_.out.height || width_ != g_.out.width) {
  if (!g_.compact) {
    make_phases();
    return;
  }
  patches_.emplace(g_, row_major(g_.out), rows_at_once(g_));
  weight_floats_ = g_.depth() * g_.columns();
  for (std::int64_t u = 0; u < g_.out.units(); ++u)
    units_.push_back(static_cast<std::int32_t>(u * g_.out.plane()));
}

void ConvGradient::make_phases() {
  for (std::int64_t line = 0; line < g_.strides.height; ++line)
    for (std::int64_t column = 0; column < g_.strides.width; ++column) {
      Phase phase = make_phase(line, column);
      if (phase.outputs.empty()) continue;
      has_gaps_ |= phase.lines == 0 || phase.columns == 0;
      if (phase.lines == 0 || phase.columns == 0) continue;
      phase.weights = weight_floats_;
      weight_floats_ += columns_ * phase.depth(g_);
      phases_.push_back(std::move(phase));
    }
}

// The part of the gradient that a product reads, including padding.
std::int64_t ConvGradient::gradient_numbers() const {
  return patches_ ? g_.out.units() * g_.out.plane() : g_.out.units() * height_ * width_ * unit;
}

core::Bytes ConvGradient::frame_bytes() const {
  if (patches_) return aligned(patches_->scratch_bytes());
  return framed_ ? aligned(static_cast<core::Bytes>(gradient_numbers()) * sizeof(float)) : 0;
}

core::Bytes ConvGradient::scratch_bytes() const {
  return frame_bytes() +
         (g_.bf16 ? static_cast<core::Bytes>(gradient_numbers()) * sizeof(Bf16) : 0);
}

ConvGradient::Phase ConvGradient::make_phase(std::int64_t line, std::int64_t column) const {
  Phase phase{};
  phase.first_line = line, phase.first_column = column;
  phase.lines = line < g_.kernel.height ? pieces(g_.kernel.height - line, g_.strides.height) : 0;
  phase.columns = column < g_.kernel.width ? pieces(g_.kernel.width - column, g_.strides.width) : 0;
  for (std::int64_t y = 0; y < g_.in.height; ++y)
    for (std::int64_t x = 0; x < g_.in.width; ++x) {
      const std::int64_t down = y + g_.pad_top - line, right = x + g_.pad_left - column;
      // The first gradient for this position is where the last tap reaches it.
      if (down % g_.strides.height != 0 || right % g_.strides.width != 0) continue;
      const std::int64_t at = down / g_.strides.height - phase.lines + 1 + top_;
      const std::int64_t along = right / g_.strides.width - phase.columns + 1 + left_;
      phase.rows.push_back(static_cast<std::int32_t>((at * width_ + along) * unit));
      phase.outputs.push_back(static_cast<std::int32_t>((y * g_.in.width + x) * unit));
    }
  for (std::int64_t u = 0; u < g_.out.units(); ++u)
    for (std::int64_t tap = 0; tap < phase.lines; ++tap)
      phase.segments.push_back(static_cast<std::int32_t>((u * height_ + tap) * width_ * unit));
  phase.runs.emplace(g_.out.channels, phase.lines, phase.columns, width_ * unit,
                     height_ * width_ * unit);
  return phase;
}

void ConvGradient::turn_weights(const Pass& pass, float* to, int part, int parts) const {
  auto* rounded = reinterpret_cast<Bf16*>(to);
  if (patches_ && g_.bf16)
    return round_transposed_weights(pass, pass.weights + g_.weights, g_.depth(), g_.columns(),
                                    rounded, part, parts);
  if (patches_)
    return transpose_weights(pass, pass.weights + g_.weights, g_.depth(), g_.columns(), to, part,
                             parts);
  const Range units = share(g_.in.units(), part, parts);
  for (const Phase& phase : phases_)
    for (std::int64_t i = units.begin; i < units.end; ++i)
      if (g_.bf16)
        turn_unit(pass, phase, rounded + phase.weights, i, pass.bf16->transpose_pairs);
      else
        turn_unit(pass, phase, to + phase.weights, i, pass.kernels->transpose);
}

// To (out units, rows, columns, 16) × panels of input channels, taps from last to first.
template <class Operand, class Transpose>
void ConvGradient::turn_unit(const Pass& pass, const Phase& phase, Operand* to, std::int64_t in,
                             Transpose transpose) const {
  constexpr std::int64_t together = std::is_same_v<Operand, Bf16> ? 2 : 1;
  const std::int64_t in_first = in * unit / panel * panel,
                     in_width = std::min(panel, columns_ - in_first);
  for (std::int64_t o = 0; o < g_.out.units(); ++o) {
    const std::int64_t first = o * unit / panel * panel,
                       width = std::min(panel, g_.columns() - first);
    for (std::int64_t y = 0; y < phase.lines; ++y)
      for (std::int64_t x = 0; x < phase.columns; ++x) {
        const std::int64_t ky = phase.first_line + (phase.lines - 1 - y) * g_.strides.height;
        const std::int64_t kx = phase.first_column + (phase.columns - 1 - x) * g_.strides.width;
        const std::int64_t tap = ky * g_.kernel.width + kx;
        const float* from = pass.weights + g_.weights + first * g_.depth() + o * unit - first +
                            (in * g_.taps() + tap) * unit * width;
        Operand* turned = to + in_first * phase.depth(g_) + together * (in * unit - in_first) +
                          ((o * phase.lines + y) * phase.columns + x) * unit * in_width;
        transpose(from, width, unit, unit, turned, together * in_width);
      }
  }
}

const float* ConvGradient::frame(const float* gradient, std::byte* scratch) const {
  if (!framed_) return gradient;
  auto* to = reinterpret_cast<float*>(scratch);
  for (std::int64_t u = 0; u < g_.out.units(); ++u)
    for (std::int64_t y = 0; y < g_.out.height; ++y)
      std::copy_n(gradient + u * g_.out.plane() + y * g_.out.width * unit, g_.out.width * unit,
                  to + ((u * height_ + y + top_) * width_ + left_) * unit);
  return to;
}

void ConvGradient::compute(const Pass& pass, const float* weights, const float* gradient,
                           std::byte* scratch, float* to, const Finish& finish) const {
  const float* from = patches_ ? gradient : frame(gradient, scratch);
  auto* rounded = reinterpret_cast<Bf16*>(scratch + frame_bytes());
  if (g_.bf16) pass.bf16->round(from, gradient_numbers(), rounded);
  if (patches_ && g_.bf16)
    compute_patches<Bf16>(pass, pass.bf16->multiply, weights, rounded, scratch, to, finish);
  else if (patches_)
    compute_patches<float>(pass, pass.kernels->multiply, weights, from, scratch, to, finish);
  else if (g_.bf16)
    compute_phases([&](const Phase&, const Product<Bf16>& m) { pass.bf16->multiply(m); }, weights,
                   rounded, to, finish);
  else
    compute_phases(
        [&](const Phase& phase, const Multiply& m) { phase.runs->multiply(*pass.kernels, m); },
        weights, from, to, finish);
}

template <class Operand>
void ConvGradient::compute_patches(const Pass& pass, void (*multiply)(const Product<Operand>&),
                                   const float* weights, const Operand* gradient,
                                   std::byte* scratch, float* to, const Finish& finish) const {
  const ConvInput::Memory memory = patches_->memory(scratch);
  std::fill_n(memory.frame, patches_->frame_plane(), 0.f);
  Product<Operand> m{};
  m.row_stride = unit;
  m.segments = g_.out.units(), m.segment_offsets = units_.data();
  m.run = std::min(unit, g_.out.channels);  // not the zeros of a single unit's padding
  m.c_row_stride = g_.depth(), m.c_unit_stride = unit;
  const std::int64_t most = rows_at_once(g_);
  for (std::int64_t first = 0; first < g_.out.positions(); first += most) {
    m.a = gradient + first * unit, m.rows = std::min(most, g_.out.positions() - first);
    for (std::int64_t k = 0; k < g_.depth(); k += panel) {
      m.b = reinterpret_cast<const Operand*>(weights) + k * g_.columns();
      m.width = std::min(panel, g_.depth() - k);
      m.c = memory.patches + k;
      multiply(m);
    }
    patches_->add_patches(pass, memory.patches, first, m.rows, memory.frame);
  }
  patches_->unframe(memory.frame, finish, to);
}

template <class Operand, class Kernel>
void ConvGradient::compute_phases(Kernel multiply, const float* weights, const Operand* gradient,
                                  float* to, const Finish& finish) const {
  if (has_gaps_) std::fill_n(to, g_.in.floats(), 0.f);
  Product<Operand> m{};
  m.a = gradient;
  m.c_unit_stride = g_.in.plane();
  m.relu = finish.relu;
  for (const Phase& phase : phases_) {
    m.rows = static_cast<std::int64_t>(phase.rows.size());
    m.row_offsets = phase.rows.data(), m.c_row_offsets = phase.outputs.data();
    m.segments = static_cast<std::int64_t>(phase.segments.size());
    m.segment_offsets = phase.segments.data(), m.run = phase.columns * unit;
    for (std::int64_t n = 0; n < columns_; n += panel) {
      m.b = reinterpret_cast<const Operand*>(weights) + phase.weights + n * phase.depth(g_);
      m.width = std::min(panel, columns_ - n);
      m.bias = finish.bias ? finish.bias + n : nullptr;
      m.c = to + n / unit * g_.in.plane();
      multiply(phase, m);
    }
  }
}

}  // namespace sweetspot::engine::cpu
