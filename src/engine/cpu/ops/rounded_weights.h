#pragma once
#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// A dense layer's weights (depth, columns) in bf16, as products read them: pairs of rows, in panels
// of columns; then, if kept transposed, pairs of columns, in panels of rows.
struct RoundedWeights {
  Bf16* numbers;
  const float* weights;
  std::int64_t depth, columns;
  bool transposed_too;

  std::int64_t width(std::int64_t column) const { return std::min(panel, columns - column); }
  Bf16* panel_at(std::int64_t column) const { return numbers + column * depth; }
  Bf16* transposed_panel_at(std::int64_t row) const {
    return numbers + depth * columns + row * columns;
  }

  // Some units of rows of all panels.
  void round(const Pass& pass, int part, int parts) const {
    const Range units = share(depth / unit, part, parts);
    for (std::int64_t n = 0; n < columns; n += panel)
      round_rows(pass, n, units.begin * unit, units.end * unit);
    if (transposed_too)
      round_transposed_weights(pass, weights, depth, columns, transposed_panel_at(0), part, parts);
  }
  // Rows [begin, end) of a panel, which are in the L1 cache.
  void round_chunk(const Pass& pass, std::int64_t column, std::int64_t begin,
                   std::int64_t end) const {
    round_rows(pass, column, begin, end);
    for (std::int64_t k = begin; k < end && transposed_too; k += unit)
      round_transposed_tile(pass, weights, {depth, columns}, k, column,
                            transposed_panel_at(k / panel * panel));
  }
  // Rows [row, row + panel), transposed from the rounded ones: half as many bytes.
  void turn_panel(const Pass& pass, std::int64_t row, Bf16* to) const {
    const std::int64_t to_width = std::min(panel, depth - row);
    for (std::int64_t k = row; k < row + to_width; k += unit)
      for (std::int64_t n = 0; n < columns; n += panel)
        pass.bf16->turn_row_pairs(panel_at(n) + k * width(n), 2 * width(n), width(n),
                                  to + n * to_width + 2 * (k - row), 2 * to_width);
  }

 private:
  void round_rows(const Pass& pass, std::int64_t column, std::int64_t begin,
                  std::int64_t end) const {
    pass.bf16->pair_rows(weights + column * depth + begin * width(column), width(column),
                         end - begin, width(column), panel_at(column) + begin * width(column),
                         2 * width(column));
  }
};

}  // namespace sweetspot::engine::cpu
