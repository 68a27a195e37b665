#pragma once
#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// A dense layer's weights (depth, columns) in bf16, as products read them: pairs of rows, in panels
// of columns; then, if kept transposed, pairs of columns, in panels of rows. On tiles each tile of
// 32 rows and 16 columns is contiguous: the weights come from beyond the L2 cache, which the CPU
// foresees if they are read in order.
struct RoundedWeights {
  Bf16* numbers;
  const float* weights;
  std::int64_t depth, columns;
  bool transposed_too;

  bool in_tiles(const Pass& pass) const { return pass.bf16->tiles && depth % (2 * unit) == 0; }
  std::int64_t width(std::int64_t column) const { return std::min(panel, columns - column); }
  // The right side of a product with a panel.
  void multiply_panel(const Pass& pass, std::int64_t column, Product<Bf16>& m) const {
    m.b = numbers + column * depth, m.width = width(column), m.b_tiles = in_tiles(pass);
  }
  // Of a panel, from an even row on.
  PanelPairs pairs_at(const Pass& pass, std::int64_t column, std::int64_t row) const {
    Bf16* first = numbers + column * depth;
    if (in_tiles(pass)) return {first + row * unit, width(column), depth * unit, 2 * unit};
    return {first + row * width(column), width(column), 2 * unit, 2 * width(column)};
  }
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
  // Rows [begin, end) of a panel, and those transposed, if they are kept so too.
  void round_rows(const Pass& pass, std::int64_t column, std::int64_t begin,
                  std::int64_t end) const {
    const PanelPairs pairs = pairs_at(pass, column, begin);
    const std::int64_t columns_at_once = in_tiles(pass) ? unit : pairs.width;
    for (std::int64_t c = 0; c < pairs.width; c += columns_at_once)
      pass.bf16->pair_rows(weights + column * depth + begin * pairs.width + c, pairs.width,
                           end - begin, columns_at_once, pairs.to + c / unit * pairs.column_stride,
                           pairs.row_stride);
  }
  void round_transposed(const Pass& pass, std::int64_t column, std::int64_t begin,
                        std::int64_t end) const {
    for (std::int64_t k = begin; k < end && transposed_too; k += unit)
      round_transposed_tile(pass, weights, {depth, columns}, k, column,
                            transposed_panel_at(k / panel * panel));
  }
  // Rows [row, row + panel), transposed from the rounded ones: half as many bytes.
  void turn_panel(const Pass& pass, std::int64_t row, Bf16* to) const {
    const bool tiles = turns_into_tiles(pass);
    const std::int64_t rows = std::min(panel, depth - row), to_width = tiles ? unit : rows;
    for (std::int64_t k = 0; k < rows; k += unit)
      for (std::int64_t n = 0; n < columns; n += panel) {
        const PanelPairs pairs = pairs_at(pass, n, row + k);
        pass.bf16->turn_row_pairs(pairs.to, pairs.column_stride, pairs.row_stride, pairs.width,
                                  to + (tiles ? k * columns : 2 * k) + n * to_width, 2 * to_width);
      }
  }
  // Contiguous ones, as Product::b_tiles says.
  bool turns_into_tiles(const Pass& pass) const {
    return pass.bf16->tiles && columns % (2 * unit) == 0;
  }
};

}  // namespace sweetspot::engine::cpu
