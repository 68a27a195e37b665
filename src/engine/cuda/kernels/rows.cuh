#pragma once
#include <algorithm>
#include <cstdint>

#include "engine/cuda/kernels/params.h"

// How passes over whole tensors divide the work: a tensor is rows (sample, position) of vectors of
// four channels. A block has some vectors of each row (`columns`, so that no thread needs a
// division to find its own) and its groups of threads iterate over the rows.
namespace sweetspot::engine::cuda {

constexpr int row_threads = 256, most_columns = 32;
constexpr int rows_at_once = 4;  // that a thread loads before it stores the first

struct RowShares {
  int columns = 1, tiles = 1, vectors = 1, rows = 1;

  RowShares() = default;
  RowShares(std::int64_t all_rows, int padded) {
    vectors = padded / 4, rows = static_cast<int>(all_rows);
    tiles = (vectors + most_columns - 1) / most_columns;
    columns = (vectors + tiles - 1) / tiles;
  }
  int blocks() const {
    constexpr std::int64_t most_blocks = 1 << 14;
    const int groups = row_threads / columns;
    return tiles *
           static_cast<int>(std::clamp<std::int64_t>(
               (rows + groups - 1) / groups, 1, std::max<std::int64_t>(1, most_blocks / tiles)));
  }
  // For passes that load some rows at once: fewer blocks, but enough for every multiprocessor.
  int fewer_blocks(int multiprocessors) const {
    constexpr int busy = 8;
    const int all = blocks() / tiles, enough = busy * multiprocessors / tiles;
    return tiles * std::max({1, std::min(all, enough), all / rows_at_once});
  }
#ifdef __CUDACC__
  // Stores what `load(row, first channel)` returns for each of this thread's vectors by
  // `store(row, first channel, that)`.
  template <class Load, class Store>
  __device__ void each(Load load, Store store) const {
    const int groups = row_threads / columns, group = threadIdx.x / columns;
    const int column = threadIdx.x - group * columns;
    const int block = blockIdx.x / tiles, tile = blockIdx.x - block * tiles;
    const int vector = tile * columns + column, step = gridDim.x / tiles * groups;
    if (group >= groups || vector >= vectors) return;
    for (int first = block * groups + group; first < rows; first += rows_at_once * step) {
      decltype(load(0, 0)) loaded[rows_at_once];
#pragma unroll
      for (int k = 0; k < rows_at_once; ++k)
        if (first + k * step < rows) loaded[k] = load(first + k * step, 4 * vector);
#pragma unroll
      for (int k = 0; k < rows_at_once; ++k)
        if (first + k * step < rows) store(first + k * step, 4 * vector, loaded[k]);
    }
  }
  // Calls `work(row, first channel)` for each of this thread's vectors.
  template <class Work>
  __device__ void each(Work work) const {
    const int groups = row_threads / columns, group = threadIdx.x / columns;
    const int column = threadIdx.x - group * columns;
    const int block = blockIdx.x / tiles, tile = blockIdx.x - block * tiles;
    const int vector = tile * columns + column, step = gridDim.x / tiles * groups;
    if (group >= groups || vector >= vectors) return;
    for (int row = block * groups + group; row < rows; row += step) work(row, 4 * vector);
  }
#endif
};

// A row's column, line and sample.
struct Positions {
  Divider by_width, by_height;
  Positions() = default;
  Positions(int height, int width)
      : by_width(static_cast<std::uint32_t>(width)),
        by_height(static_cast<std::uint32_t>(height)) {}
#ifdef __CUDACC__
  __device__ int3 of(int row) const {
    const int line = by_width.quotient(row), sample = by_height.quotient(line);
    return {row - line * static_cast<int>(by_width.divisor),
            line - sample * static_cast<int>(by_height.divisor), sample};
  }
#endif
};

}  // namespace sweetspot::engine::cuda
