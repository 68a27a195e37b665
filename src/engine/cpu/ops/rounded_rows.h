#pragma once
#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// A part's rows of a phase that goes through all of them: whole tiles of 16, but for the last.
inline Range own_rows(std::int64_t rows, int part, int parts) {
  const Range tiles = share(pieces(rows, unit), part, parts);
  return {std::min(tiles.begin * unit, rows), std::min(tiles.end * unit, rows)};
}

// The rows of a matrix in bf16, as products read them.
struct RoundedRows {
  Bf16* numbers;
  std::int64_t width, count;

  // On tiles they are kept tile by tile: rows whose distance is a power of two would displace one
  // another from the L1 cache.
  bool tile_by_tile(const Pass& pass) const { return pass.bf16->tiles && width % (2 * unit) == 0; }

  // A part of them, from own_rows().
  void round(const Pass& pass, const float* from, int part, int parts) const {
    round(pass, from, own_rows(count, part, parts));
  }
  // From a multiple of 16 on.
  void round(const Pass& pass, const float* from, const Range& some) const {
    const std::int64_t rows = some.end - some.begin, first = some.begin * width;
    if (tile_by_tile(pass))
      pass.bf16->round_row_tiles(from + first, rows, width, numbers + first);
    else
      pass.bf16->round(from + first, rows * width, numbers + first);
  }

  // A product of some of them, without its right side and its result.
  Product<Bf16> product(const Pass& pass, std::int64_t first, std::int64_t rows) const {
    Product<Bf16> m{};
    m.a = numbers + first * width, m.row_stride = width, m.row_tiles = tile_by_tile(pass);
    m.rows = rows, m.segments = 1, m.run = width;
    m.c_unit_stride = unit;
    return m;
  }

  // Calls visit(first column, first row, rows) for a part's tiles of a product with so many
  // columns.
  template <class Visit>
  void each_tile_of(const Pass& pass, std::int64_t columns, std::int64_t most_rows, Split split,
                    int part, int parts, Visit visit) const {
    if (pass.bf16->tiles)
      each_tile_of_16(count, columns, split, part, parts, visit);
    else
      each_tile(count, columns, most_rows, split, part, parts, visit);
  }
};

}  // namespace sweetspot::engine::cpu
