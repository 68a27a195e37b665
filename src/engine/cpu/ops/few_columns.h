#pragma once
#include <algorithm>
#include <cstdint>

#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// The weight gradient of a dense layer with few outputs. Registers hold inputs, which are
// contiguous, instead of outputs and their padding: the product is that of the transpose. (From 13
// outputs on, more tiles go through the inputs than padding is saved.)
class FewColumns {
 public:
  static constexpr std::int64_t floats = 2 * unit * panel;

  FewColumns(const Kernels& kernels, float* memory) : kernels_(kernels), memory_(memory) {}

  // `o`: the chunk over all rows, as for Kernels::outer; `outputs` of its columns are not padding.
  void multiply(const Outer& o, std::int64_t outputs) const {
    float *turned = memory_, *added = memory_ + unit * panel;
    Outer t{};
    t.a = o.g, t.row_stride = o.g_row_stride, t.rows = o.rows, t.depth = outputs;
    t.g_row_stride = o.row_stride, t.g_unit_stride = unit, t.d = turned;
    for (std::int64_t k = 0; k < o.depth; k += panel) {
      t.width = std::min(panel, o.depth - k), t.g = o.a + k;
      kernels_.outer(t);
      std::fill(turned + outputs * t.width, turned + unit * t.width, 0.f);
      float* to = o.d + k * unit;
      kernels_.transpose(turned, t.width, unit, t.width, o.accumulate ? added : to, unit);
      if (o.accumulate) kernels_.add(added, t.width * unit, to);
    }
  }

 private:
  const Kernels& kernels_;
  float* memory_;
};

}  // namespace sweetspot::engine::cpu
