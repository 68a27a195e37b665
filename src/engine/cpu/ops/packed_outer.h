#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// Chunks of a dense layer's weight gradient from packed operands: the rows of a micro-batch are as
// far apart as the layer is wide, often a power of two that maps them all to a few cache sets.
// Chunks of the same inputs in neighbouring panels of columns share the packed inputs, and all
// chunks of a panel its packed gradients. (Packing for one panel at a time took a quarter of the
// time at 4,096 inputs.)
class PackedOuter {
 public:
  static constexpr std::int64_t most_panels = 4;  // packed side by side

  static std::int64_t panels(std::int64_t columns) {
    return std::min(most_panels, pieces(columns, panel));
  }
  // For products of at most `rows` rows and chunks of at most `depth` inputs.
  static std::int64_t floats(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    return rows * (panels(columns) * panel + depth);
  }

  PackedOuter(float* memory, std::int64_t columns) : memory_(memory), panels_(panels(columns)) {}

  // `o`: the chunk over all rows, unpacked; `column`: the first of its panel; `second`: null if it
  // has only one.
  void multiply(const Kernels& kernels, const Outer& o, std::int64_t column,
                const SecondPanel* second) {
    const std::int64_t slot = column / panel % panels_, count = second ? 2 : 1;
    float* gradients = memory_ + slot * o.rows * panel;
    float* inputs = memory_ + panels_ * o.rows * panel;
    const bool new_inputs = inputs_ != o.a || depth_ != o.depth;
    for (std::int64_t p = 0; p < count; ++p) {
      const float* from = p == 0 ? o.g : o.g + second->operand;
      const float*& packed = gradients_.at(static_cast<std::size_t>(slot + p));
      if (packed != from)
        kernels.copy_rows(from, o.g_row_stride, o.rows, o.width, gradients + p * o.rows * panel,
                          panel);
      packed = from;
    }
    inputs_ = o.a, depth_ = o.depth;

    Outer some = o;
    some.row_stride = o.depth, some.g_row_stride = panel, some.next_stride = o.row_stride;
    some.packed = true;
    // After the last of the panels that share these inputs come the next inputs.
    const bool fetches = slot + count == panels_;
    const std::int64_t at_once = o.rows < rows_at_once ? few_at_once : rows_at_once;
    for (std::int64_t first = 0; first < o.rows; first += at_once) {
      some.rows = std::min(at_once, o.rows - first);
      if (new_inputs)
        kernels.copy_rows(o.a + first * o.row_stride, o.row_stride, some.rows, o.depth,
                          inputs + first * o.depth, o.depth);
      some.a = inputs + first * o.depth, some.g = gradients + first * panel;
      some.next = fetches ? o.a + o.depth + first * o.row_stride : nullptr;
      if (second)
        kernels.outer_two(some, {o.rows * panel, second->result});
      else
        kernels.outer(some);
      some.accumulate = true;
    }
  }

  // Rows whose inputs and gradients for a chunk of weights are packed and multiplied in turn: whole
  // blocks of those that skip zeros. (Up to 256 are as fast as 64 on an AMD CPU and 4% faster on an
  // Intel one: they load and store sums less often.)
  static constexpr std::int64_t rows_at_once = 192, few_at_once = 64;

 private:
  float* memory_;
  std::int64_t panels_;
  std::array<const float*, most_panels> gradients_{};
  const float* inputs_ = nullptr;
  std::int64_t depth_ = 0;
};

}  // namespace sweetspot::engine::cpu
