#include "engine/cpu/ops/winograd.h"

#include <algorithm>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Windows transformed at once: a few register tiles of rows, so that a point's weights are used
// several times while they are in the L1 cache.
constexpr std::int64_t most_windows = 18;
// The transforms amplify the rounding error of bf16 operands, the more the more points there are:
// 0.4% of a typical output for 3×3 kernels and 1.3% for 4×4 instead of the direct sum's 0.24%, but
// 2.5% for 5×5.
constexpr std::int64_t largest_rounded = 4;

}  // namespace

bool Winograd::fits(const ConvGeometry& g) {
  return !g.raw_input && !g.spread && g.pool == model::Window{2, 2} &&
         g.strides == model::Window{1, 1} && g.kernel.height == g.kernel.width &&
         g.kernel.height >= 3 && g.kernel.height <= 5;
}

Winograd::Winograd(const ConvGeometry& geometry, std::int64_t samples)
    : g_(geometry),
      size_(g_.kernel.height),
      points_((size_ + 1) * (size_ + 1)),
      windows_(g_.out.positions() / g_.slots()),
      chunk_(samples > 1 ? samples * windows_ : std::min(most_windows, windows_)),
      bf16_(g_.bf16 && size_ <= largest_rounded),
      input_stride_(apart(chunk_ * g_.in.units() * unit, bf16_ ? 2 * unit : unit)),
      product_stride_(apart(chunk_ * panel, unit)) {}

core::Bytes Winograd::product_offset() const {
  return static_cast<core::Bytes>(points_ * input_stride_) * (bf16_ ? sizeof(Bf16) : sizeof(float));
}

core::Bytes Winograd::scratch_bytes() const {
  return product_offset() + static_cast<core::Bytes>(points_ * product_stride_) * sizeof(float);
}

void Winograd::transform_weights(const Pass& pass, float* to, int part, int parts) const {
  const std::int64_t rows = g_.in.units() * unit;
  const Range pairs = share(rows / 2, part, parts);
  for (std::int64_t n = 0; n < g_.columns(); n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, g_.columns() - first);
    for (std::int64_t k = 2 * pairs.begin; k < 2 * pairs.end; ++k) {
      const std::int64_t tap = k / unit * g_.taps() * unit + k % unit;
      const float* taps = pass.weights + g_.weights + first * g_.depth() + tap * width + n - first;
      if (bf16_)
        pass.bf16->winograd_weights(
            size_, taps, unit * width, k % 2 != 0,
            reinterpret_cast<Bf16*>(to) + first * rows + k / 2 * 2 * width + 2 * (n - first),
            rows * g_.columns());
      else
        pass.kernels->winograd_weights(size_, taps, unit * width,
                                       to + first * rows + k * width + n - first,
                                       rows * g_.columns());
    }
  }
}

void Winograd::transform_inputs(const Pass& pass, const ConvInput& input, const float* frame,
                                std::int64_t first, std::int64_t windows, std::int64_t row,
                                std::byte* to) const {
  const std::int64_t depth = g_.in.units() * unit, line = input.frame_width() * unit;
  for (std::int64_t i = 0; i < windows; ++i)
    for (std::int64_t u = 0; u < g_.in.units(); ++u) {
      const float* corner =
          frame + u * input.frame_plane() + input.offset((first + i) * g_.slots());
      const std::int64_t at = (row + i) * depth + u * unit;
      if (bf16_)
        pass.bf16->winograd_input(size_, corner, line, reinterpret_cast<Bf16*>(to) + at,
                                  input_stride_);
      else
        pass.kernels->winograd_input(size_, corner, line, reinterpret_cast<float*>(to) + at,
                                     input_stride_);
    }
}

void Winograd::multiply(const Pass& pass, std::int64_t windows, std::int64_t column,
                        const std::byte* transformed, const float* weights, float* products) const {
  const std::int64_t depth = g_.in.units() * unit;
  const auto each_point = [&]<class Operand>(void (*kernel)(const Product<Operand>&)) {
    Product<Operand> m{};
    m.row_stride = depth, m.rows = windows, m.segments = 1;
    m.run = bf16_ ? depth : g_.in.channels;
    m.width = std::min(panel, g_.columns() - column);
    m.c_row_stride = panel, m.c_unit_stride = unit;
    for (std::int64_t p = 0; p < points_; ++p) {
      m.a = reinterpret_cast<const Operand*>(transformed) + p * input_stride_;
      m.b = reinterpret_cast<const Operand*>(weights) + p * depth * g_.columns() + column * depth;
      m.c = products + p * product_stride_;
      kernel(m);
    }
  };
  if (bf16_)
    each_point(pass.bf16->multiply);
  else
    each_point(pass.kernels->multiply);
}

void Winograd::forward(const Pass& pass, const ConvInput& input, const float* frame,
                       const float* weights, std::byte* scratch, float* out,
                       std::uint8_t* winner) const {
  auto* products = reinterpret_cast<float*>(scratch + product_offset());
  for (std::int64_t w = 0; w < windows_; w += chunk_) {
    const std::int64_t windows = std::min(chunk_, windows_ - w);
    transform_inputs(pass, input, frame, w, windows, 0, scratch);
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      multiply(pass, windows, n, scratch, weights, products);
      for (std::int64_t c = n; c < std::min(n + panel, g_.columns()); c += unit)
        for (std::int64_t i = 0; i < windows; ++i) {
          const std::int64_t at = c * windows_ + (w + i) * unit;
          pass.kernels->winograd_output(size_, {products + i * panel + c - n, product_stride_,
                                                g_.bias ? pass.weights + *g_.bias + c : nullptr,
                                                g_.relu, out + at, winner + at});
        }
    }
  }
}

void Winograd::finish(const Pass& pass, const float* weights, std::byte* scratch,
                      std::span<const Output> samples) const {
  auto* products = reinterpret_cast<float*>(scratch + product_offset());
  for (std::int64_t n = 0; n < g_.columns(); n += panel) {
    multiply(pass, static_cast<std::int64_t>(samples.size()) * windows_, n, scratch, weights,
             products);
    for (std::int64_t c = n; c < std::min(n + panel, g_.columns()); c += unit) {
      const float* bias = g_.bias ? pass.weights + *g_.bias + c : nullptr;
      const float* row = products + c - n;
      for (const Output& sample : samples)
        for (std::int64_t w = 0; w < windows_; ++w, row += panel) {
          const std::int64_t at = c * windows_ + w * unit;
          pass.kernels->winograd_output(
              size_, {row, product_stride_, bias, g_.relu, sample.out + at, sample.winner + at});
        }
    }
  }
}

}  // namespace sweetspot::engine::cpu
