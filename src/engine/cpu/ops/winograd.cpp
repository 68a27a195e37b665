#include "engine/cpu/ops/winograd.h"

#include <algorithm>

#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Windows transformed at once: a few register tiles of rows, so that a point's weights are used
// several times while they are in first-level cache.
constexpr std::int64_t most_windows = 18;

}  // namespace

bool Winograd::fits(const ConvGeometry& g) {
  return !g.raw_input && g.pool == model::Window{2, 2} && g.strides == model::Window{1, 1} &&
         g.kernel.height == g.kernel.width && g.kernel.height >= 3 && g.kernel.height <= 5;
}

Winograd::Winograd(const ConvGeometry& geometry)
    : g_(geometry),
      size_(g_.kernel.height),
      points_((size_ + 1) * (size_ + 1)),
      windows_(g_.out.positions() / g_.slots()),
      chunk_(std::min(most_windows, windows_)) {}

std::int64_t Winograd::product_offset() const { return points_ * chunk_ * g_.in.units() * unit; }

core::Bytes Winograd::scratch_bytes() const {
  return static_cast<core::Bytes>(product_offset() + points_ * chunk_ * panel) * sizeof(float);
}

void Winograd::transform_weights(const Pass& pass, float* to, int part, int parts) const {
  const std::int64_t rows = g_.in.units() * unit;
  const Range mine = share(rows, part, parts);
  for (std::int64_t n = 0; n < g_.columns(); n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, g_.columns() - first);
    for (std::int64_t k = mine.begin; k < mine.end; ++k) {
      const std::int64_t tap = k / unit * g_.taps() * unit + k % unit;
      pass.kernels->winograd_weights(
          size_, pass.weights + g_.weights + first * g_.depth() + tap * width + n - first,
          unit * width, to + first * rows + k * width + n - first, rows * g_.columns());
    }
  }
}

void Winograd::forward(const Pass& pass, const ConvInput& input, const float* frame,
                       const float* weights, std::byte* scratch, float* out,
                       std::uint8_t* winner) const {
  auto* transformed = reinterpret_cast<float*>(scratch);
  float* product = transformed + product_offset();
  const std::int64_t depth = g_.in.units() * unit;
  for (std::int64_t w = 0; w < windows_; w += chunk_) {
    const std::int64_t windows = std::min(chunk_, windows_ - w);
    for (std::int64_t i = 0; i < windows; ++i)
      for (std::int64_t u = 0; u < g_.in.units(); ++u)
        pass.kernels->winograd_input(
            size_, frame + u * input.frame_plane() + input.offset((w + i) * g_.slots()),
            input.frame_width() * unit, transformed + i * depth + u * unit, chunk_ * depth);
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      Multiply m{};
      m.row_stride = depth, m.rows = windows, m.segments = 1, m.run = depth;
      m.width = std::min(panel, g_.columns() - n);
      m.c_row_stride = panel, m.c_unit_stride = unit;
      for (std::int64_t p = 0; p < points_; ++p) {
        m.a = transformed + p * chunk_ * depth;
        m.b = weights + p * depth * g_.columns() + n * depth;
        m.c = product + p * chunk_ * panel;
        pass.kernels->multiply(m);
      }
      for (std::int64_t c = n; c < n + m.width; c += unit)
        for (std::int64_t i = 0; i < windows; ++i) {
          const std::int64_t at = c * windows_ + (w + i) * unit;
          pass.kernels->winograd_output(size_, {product + i * panel + c - n, chunk_ * panel,
                                                g_.bias ? pass.weights + *g_.bias + c : nullptr,
                                                g_.relu, out + at, winner + at});
        }
    }
  }
}

}  // namespace sweetspot::engine::cpu
