#pragma once
#include "engine/cuda/kernels/gemm.cuh"
#include "engine/cuda/kernels/packing.h"

// What follows the sums of a tile of packed operands: the epilogues of gemm_epilogue.cuh, row by
// row.
namespace sweetspot::engine::cuda {

constexpr int packed_threads = block_threads;  // that hold sums: two warpgroups of 64 rows

template <int n>
using PackedSums = SumsTile<packed_rows, n>;

// The block's place among those of a product: its tile, phase and split of the depth.
struct PackedPlace {
  int tile_m, tile_n, which = 0, split;
  bool clustered;
  __device__ PackedPlace(const GemmPart& p, bool phases) : clustered(p.clustered) {
    const int block = clustered ? cluster_index() : static_cast<int>(blockIdx.x);
    const int rest = p.by_tiles_n.quotient(block);
    tile_n = block - rest * p.tiles_n;
    split = p.by_tiles_m.quotient(rest);
    tile_m = rest - split * p.tiles_m;
    if (phases && p.phases > 1) which = clustered ? split : split / p.splits;
    split = clustered ? cluster_rank() : split - which * p.splits;
  }
};

// Writes a warpgroup product's sums as rows.
template <int n>
__device__ PackedSums<n> stage_packed(const GemmPart& p, const PackedPlace& place, float* shared,
                                      const float (&sums)[n / 2]) {
  PackedSums<n> rows{shared};
  if (place.clustered) rows.blocks = p.splits, rows.rank = place.split;
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < n / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store2(rows.place(16 * warp + g + 8 * half, 8 * j + 2 * t), sums[4 * j + 2 * half],
             sums[4 * j + 2 * half + 1]);
  rows.complete();
  return rows;
}

// Zero where a code lets no gradient through.
__device__ inline float4 routed(float4 g, uchar4 code) {
  return {code.x ? 0.f : g.x, code.y ? 0.f : g.y, code.z ? 0.f : g.z, code.w ? 0.f : g.w};
}

// The input gradient of a tile, through the function or the codes of its producer. Here
// `value_terms` says how it is stored, `code` are its producer's, and `partials` gets its columns'
// sums, a row for each tile of rows over all phases.
template <int n>
__device__ void finish_packed_data(const GemmPart& p, const Phase& phase, const PackedPlace& place,
                                   const PackedSums<n>& sums) {
  const int channels = static_cast<int>(p.by_channels.divisor);
  const int m0 = place.tile_m * packed_rows, column = sums.column(), c = place.tile_n * n + column;
  const bool real = c < channels;
  float4 sum{};
  sums.template each<4>(packed_rows, [&](int row) {
    const std::int64_t from = row_of_input(p, phase, m0 + row);
    if (from < 0 || !real) return;
    const std::int64_t at = from * channels + c;
    float4 v = through_input_function(p, at, sums.at(row, column) * p.scale);
    if (p.code) v = routed(v, *reinterpret_cast<const uchar4*>(p.code + at));
    store_value4(p.input_gradient, p.value_terms, at, v);
    sum = sum + v;
  });
  if (!p.partials) return;
  // The sums of the columns, group of rows by group, behind those that other blocks may still read.
  float* const parts = sums.tile + PackedSums<n>::bytes / 4;
  store4(parts + 4 * threadIdx.x, sum);
  __syncthreads();
  const bool adds = threadIdx.x < PackedSums<n>::fours;
  if (adds)
#pragma unroll
    for (int group = 1; group < PackedSums<n>::together; ++group)
      sum = sum + load4(parts + 4 * (group * PackedSums<n>::fours + threadIdx.x));
  if (sums.blocks > 1) {
    if (adds) store4(parts + 4 * threadIdx.x, sum);
    cluster_barrier();
    if (sums.rank > 0) return;
    if (adds) sum = sum4_of_cluster(parts + 4 * threadIdx.x, sums.blocks);
  }
  const int tile_row = place.which * p.tiles_m + place.tile_m;
  if (adds && real) store4(p.partials + static_cast<std::int64_t>(tile_row) * channels + c, sum);
}

// `locate` finds a row of the weight gradient: its tap and channel, or false for none.
template <class M, GemmKind kind, int n, class Locate>
__device__ void finish_packed(const GemmPart& p, const Phase& phase, const PackedPlace& place,
                              float* shared, const float (&sums)[n / 2], const Locate& locate) {
  const PackedSums<n> finished = stage_packed<n>(p, place, shared, sums);
  const int m0 = place.tile_m * packed_rows, n0 = place.tile_n * n;
  if constexpr (kind == GemmKind::forward) {
    finish_outputs<true, true>(p, m0, n0, finished);
  } else if constexpr (kind == GemmKind::data) {
    finish_packed_data<n>(p, phase, place, finished);
  } else {
    const int channels = static_cast<int>(p.by_channels.divisor);
    const int column = finished.column(), f = n0 + column;
    if (f >= p.shape.filters) return;
    float* const to = p.partials + place.split * p.partial_stride + f;
    finished.template each<4>(packed_rows, [&](int row) {
      int tap, c;
      if (!locate(row, tap, c)) return;
      const float4 v = finished.at(row, column);
      check_range<M>(p, v);
      if (c < channels)
        store4(to + static_cast<std::int64_t>(tap * channels + c) * p.shape.filters, v);
    });
  }
  if (finished.blocks > 1) cluster_barrier();  // the others may still read this block's sums
}

// Shared memory of a tile's sums and of what the sums of its columns take.
template <int n>
constexpr int packed_sums_bytes = PackedSums<n>::bytes + 16 * packed_threads;

}  // namespace sweetspot::engine::cuda
