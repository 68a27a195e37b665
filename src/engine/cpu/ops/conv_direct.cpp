#include "engine/cpu/ops/conv_direct.h"

#include <algorithm>

namespace sweetspot::engine::cpu {
DirectConv::DirectConv(const ConvGeometry& geometry)
    : g_(geometry), chunk_(rows_at_once(g_)), input_(g_, row_major(g_.out), chunk_) {}

void DirectConv::forward(const Pass& pass, const float* from, std::byte* scratch, float* to) const {
  Multiply m{};
  input_.point(m, input_.frame(from, scratch), 0, g_.out.positions());
  m.relu = g_.relu;
  m.c_row_stride = unit, m.c_unit_stride = g_.out.plane();
  for (std::int64_t n = 0; n < g_.columns(); n += panel) {
    m.b = pass.weights + g_.weights + n * g_.depth();
    m.width = std::min(panel, g_.columns() - n);
    m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
    m.c = to + n / unit * g_.out.plane();
    pass.kernels->multiply(m);
  }
}

void DirectConv::add_weights(const Pass& pass, const float* from, const float* gradient,
                             std::byte* scratch, float* weights) const {
  const float* frame = input_.frame(from, scratch);
  for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
    Outer o{};
    o.rows = std::min(chunk_, g_.out.positions() - first);
    o.g_row_stride = unit, o.g_unit_stride = g_.out.plane(), o.accumulate = true;
    const float* patches = g_.compact ? input_.patches(frame, scratch, first, o.rows) : nullptr;
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      o.width = std::min(panel, g_.columns() - n);
      o.g = gradient + n / unit * g_.out.plane() + first * unit;
      o.d = weights + n * g_.depth();
      if (patches) {
        o.a = patches, o.row_stride = g_.depth(), o.depth = g_.depth();
        pass.kernels->outer(o);
        continue;
      }
      o.row_offsets = input_.row_offsets() + first, o.depth = g_.kernel.width * unit;
      for (const std::int32_t segment : input_.segment_offsets()) {
        o.a = frame + segment;
        pass.kernels->outer(o);
        o.d += o.depth * o.width;
      }
    }
  }
}

}  // namespace sweetspot::engine::cpu
