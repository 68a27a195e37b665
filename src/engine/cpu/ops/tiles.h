#pragma once
#include <algorithm>
#include <cstdint>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

inline std::int64_t pieces(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

// Numbers from one point of a Winograd transform to the next: an odd number of cache lines, since a
// transform reads or writes all points of a window, which would displace one another from the L1
// cache a power of two apart.
inline std::int64_t apart(std::int64_t numbers, std::int64_t of_line = unit) {
  return numbers / of_line % 2 == 0 ? numbers + of_line : numbers;
}

// How the tiles of a matrix, a panel of columns by some rows each, are divided into parts: by
// panels or by rows.
enum class Split { panels, rows };

// Whether the parts of a matrix with so many rows are rows: a thread then writes what it reads
// itself in the layers before and after. Reading what another core wrote, and writing what it has
// read, takes longer than reading all weights once more for each part, unless its rows are few.
inline bool splits_rows(std::int64_t rows, int parts) {
  constexpr std::int64_t least_rows = 192;
  return parts > 1 && rows >= least_rows * parts;
}

// The number of cuts of rows, at most `most_rows` in each, such that all parts get about as many
// tiles: a thread without tiles waits for the others. A single panel is split as finely as needed;
// with many panels, each split is read again.
inline std::int64_t cuts_of(std::int64_t rows, std::int64_t columns, std::int64_t most_rows,
                            Split split, int parts, std::int64_t least_rows = 6) {
  const std::int64_t in_a_cut = split == Split::rows ? 1 : pieces(columns, panel);
  std::int64_t cuts = pieces(rows, most_rows);
  const auto is_even = [&] {
    const std::int64_t tiles = in_a_cut * cuts;
    return 10 * parts * pieces(tiles, parts) <= 11 * tiles;
  };
  while (!is_even() && cuts < rows && (in_a_cut == 1 || rows / (cuts + 1) >= least_rows)) ++cuts;
  return cuts;
}

// Calls visit(first column, first row, rows) for each of the part's tiles, of at most `most_rows`
// rows.
template <class Visit>
void each_tile(std::int64_t rows, std::int64_t columns, std::int64_t most_rows, Split split,
               int part, int parts, Visit visit, std::int64_t least_rows = 6) {
  const std::int64_t panels = pieces(columns, panel);
  const std::int64_t cuts = cuts_of(rows, columns, most_rows, split, parts, least_rows);
  const Range tiles = share(panels * cuts, part, parts);
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const std::int64_t cut = split == Split::rows ? tile / panels : tile % cuts;
    const std::int64_t n = split == Split::rows ? tile % panels : tile / cuts;
    const std::int64_t begin = rows * cut / cuts, end = rows * (cut + 1) / cuts;
    visit(n * panel, begin, end - begin);
  }
}

// The same in whole tiles of 16 rows, but for the last, up to four at once.
template <class Visit>
void each_tile_of_16(std::int64_t rows, std::int64_t columns, Split split, int part, int parts,
                     Visit visit) {
  constexpr std::int64_t most_tiles = 4;
  each_tile(
      pieces(rows, unit), columns, most_tiles, split, part, parts,
      [&](std::int64_t n, std::int64_t tile, std::int64_t tiles) {
        visit(n, tile * unit, std::min(tiles * unit, rows - tile * unit));
      },
      1);
}

// The same by panels, with blocks of the depth: calls visit(first column, panels, first row, rows,
// depth), from the first block of a tile to its last. All panels that a part has completely meet a
// block of the inputs one after another, while it is in cache, two whole ones at a time.
template <class Visit>
void each_block(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t most_rows,
                int part, int parts, Visit visit) {
  constexpr std::int64_t usual_depth = 512;
  const std::int64_t cuts = cuts_of(rows, columns, most_rows, Split::panels, parts);
  const Range tiles = share(pieces(columns, panel) * cuts, part, parts);
  const Range whole{pieces(tiles.begin, cuts), tiles.end / cuts};  // panels
  const auto visit_tile = [&](std::int64_t n, std::int64_t panels, std::int64_t cut,
                              const Range& of) {
    const std::int64_t begin = rows * cut / cuts, end = rows * (cut + 1) / cuts;
    visit(n * panel, panels, begin, end - begin, of);
  };
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile)
    if (const std::int64_t n = tile / cuts; n < whole.begin || n >= whole.end)
      visit_tile(n, 1, tile % cuts, {0, depth});
  const std::int64_t blocks = std::max<std::int64_t>((depth + usual_depth / 2) / usual_depth, 1);
  const std::int64_t step = round_up(pieces(depth, blocks), unit);
  for (std::int64_t cut = 0; whole.begin < whole.end && cut < cuts; ++cut)
    for (std::int64_t k = 0; k < depth; k += step)
      for (std::int64_t n = whole.begin, panels; n < whole.end; n += panels) {
        panels = n + 2 <= whole.end && (n + 2) * panel <= columns ? 2 : 1;
        visit_tile(n, panels, cut, {k, std::min(k + step, depth)});
      }
}

struct MatrixSize {
  std::int64_t depth, columns;
};
// Rows [k, k + unit) of the panel at column n of a weight matrix as columns of their panel.
inline void transpose_tile(const Pass& pass, const float* weights, const MatrixSize& size,
                           std::int64_t k, std::int64_t n, float* to) {
  const std::int64_t first = k / panel * panel, to_width = std::min(panel, size.depth - first);
  const std::int64_t width = std::min(panel, size.columns - n);
  pass.kernels->transpose(weights + n * size.depth + k * width, width, unit, width,
                          to + n * to_width + k - first, to_width);
}
// Rows [k, k + unit) of a weight matrix (depth, columns) as columns of their panel.
inline void transpose_rows(const Pass& pass, const float* weights, std::int64_t depth,
                           std::int64_t columns, std::int64_t k, float* to) {
  for (std::int64_t n = 0; n < columns; n += panel)
    transpose_tile(pass, weights, {depth, columns}, k, n, to);
}
// Some units of all rows, in panels.
inline void transpose_weights(const Pass& pass, const float* weights, std::int64_t depth,
                              std::int64_t columns, float* to, int part, int parts) {
  const Range units = share(depth / unit, part, parts);
  for (std::int64_t k = units.begin * unit; k < units.end * unit; k += unit)
    transpose_rows(pass, weights, depth, columns, k, to + k / panel * panel * columns);
}

// The same in bf16, pairs of columns: rows [k, k + unit) of the panel at column n into theirs.
inline void round_transposed_tile(const Pass& pass, const float* weights, const MatrixSize& size,
                                  std::int64_t k, std::int64_t n, Bf16* to) {
  const std::int64_t first = k / panel * panel, to_width = std::min(panel, size.depth - first);
  const std::int64_t width = std::min(panel, size.columns - n);
  pass.bf16->transpose_pairs(weights + n * size.depth + k * width, width, unit, width,
                             to + n * to_width + 2 * (k - first), 2 * to_width);
}
// Some units of all rows.
inline void round_transposed_weights(const Pass& pass, const float* weights, std::int64_t depth,
                                     std::int64_t columns, Bf16* to, int part, int parts) {
  const Range units = share(depth / unit, part, parts);
  for (std::int64_t k = units.begin * unit; k < units.end * unit; k += unit)
    for (std::int64_t n = 0; n < columns; n += panel)
      round_transposed_tile(pass, weights, {depth, columns}, k, n,
                            to + k / panel * panel * columns);
}

}  // namespace sweetspot::engine::cpu
