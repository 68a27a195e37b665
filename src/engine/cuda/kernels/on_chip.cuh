#pragma once
#include "engine/cuda/kernels/gemm.cuh"

// Convolutions whose samples and weights fit into shared memory together. Each sample is loaded and
// rounded once, not once per tap, and a block keeps the weights (or, for their gradients, the sums)
// over all of its samples. A block takes `split_depth` samples at a time, and every `splits`-th
// such group.
namespace sweetspot::engine::cuda {

// Small batches: several blocks share a sample, each with some of the row groups and columns.
struct OnChipShare {
  int split, first_group, groups, first_column, columns;
  __device__ OnChipShare(const GemmPart& p, int block, int all_groups, int all_columns) {
    const int parts = p.tiles_m * p.tiles_n;
    split = block, first_group = first_column = 0;
    groups = all_groups, columns = all_columns;
    if (parts == 1) return;
    const int part = block % parts;
    split = block / parts;
    const int at_once = (all_groups + p.tiles_m - 1) / p.tiles_m;
    first_group = part / p.tiles_n * at_once;
    groups = max(0, min(at_once, all_groups - first_group));
    columns = all_columns / p.tiles_n, first_column = part % p.tiles_n * columns;
  }
};

// `rows` × `columns` floats into shared memory, rows `pitch` apart; a fixed number of a thread's
// loads are in flight at once, even if it has fewer, so that none waits for another.
template <class M, int at_once = 8>
__device__ void load_rows(const float* from, int floats, Divider by_columns, int pitch,
                          typename M::Element* to) {
  constexpr int apart = 4 * on_chip_threads;
  for (int first = 4 * threadIdx.x; first < floats; first += at_once * apart) {
    float4 v[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      if (first + k * apart < floats) v[k] = load4(from + first + k * apart);
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int i = first + k * apart, row = by_columns.quotient(i);
      if (i < floats) M::store(to + row * pitch + i - row * by_columns.divisor, v[k]);
    }
  }
}

// The same from weights cached as operands: asynchronous until `wait_for_copies` and a
// synchronisation.
__device__ inline void copy16(const void* from, void* to) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

template <class M>
__device__ void copy_rows(const void* operands, int elements, Divider by_columns, int pitch,
                          typename M::Element* to) {
  using Element = typename M::Element;
  constexpr int each = 16 / sizeof(Element);
  const auto* from = static_cast<const Element*>(operands);
#pragma unroll 4
  for (int i = each * threadIdx.x; i < elements; i += each * on_chip_threads) {
    const int row = by_columns.quotient(i);
    copy16(from + i, to + row * pitch + i - row * by_columns.divisor);
  }
}

// The gradient after pooling and ReLU, possibly in slices of its sum.
__device__ inline float4 gradient4(const GemmPart& p, std::int64_t at) {
  if (p.gradient_slices == 1) return load4(p.gradient + at);
  float4 g{};
  for (int slice = 0; slice < p.gradient_slices; slice += 4) {
    float4 part[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      part[i] = slice + i < p.gradient_slices
                    ? load4(p.gradient + (slice + i) * p.gradient_stride + at)
                    : float4{};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      g.x += part[i].x, g.y += part[i].y, g.z += part[i].z, g.w += part[i].w;
  }
  return g;
}

// The gradient before pooling of some samples, (positions, filters) each, `apart` elements apart;
// adds its column sums, from sample `counted` on, to `total`.
template <class M>
__device__ void load_routed(const GemmPart& p, int first, int samples, int pitch, int apart,
                            typename M::Element* to, float4& total, int counted = 0) {
  const ConvShape& s = p.shape;
  const int windows = p.by_windows.divisor, floats = samples * windows * s.filters;
  const std::int64_t from = static_cast<std::int64_t>(first) * windows * s.filters;
#pragma unroll 2
  for (int i = 4 * threadIdx.x; i < floats; i += 4 * on_chip_threads) {
    const int row = p.by_filters.quotient(i), f = i - row * s.filters;
    const int sample = p.by_windows.quotient(row), window = row - sample * windows;
    uchar4 code = {0, 0, 0, 0};
    if (p.code) code = *reinterpret_cast<const uchar4*>(p.code + from + i);
    const float4 g = gradient4(p, from + i);
    const int py = p.by_window_w.quotient(window), px = window - py * p.by_window_w.divisor;
#pragma unroll
    for (int slot = 0; slot < 4; ++slot) {
      if (slot > 0 && s.pool != 2) break;
      const float4 v = {code.x == slot ? g.x : 0.f, code.y == slot ? g.y : 0.f,
                        code.z == slot ? g.z : 0.f, code.w == slot ? g.w : 0.f};
      if (sample >= counted) total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
      const int position = s.pool == 2 ? (2 * py + slot / 2) * s.out_w + 2 * px + slot % 2 : window;
      M::store(to + sample * apart + position * pitch + f, v);
    }
  }
}

// Runs `work(sample of the group, row group, column block, first tap, last tap, sums)` for each
// tile of 32×32 outputs of `samples` samples, one warp per tile; if there are fewer tiles than
// warps, the taps are divided among several, whose sums are added in order. Then `finish(…, g,
// column, v)`.
template <class Work, class Finish>
__device__ void each_tile(int samples, int most_samples, int groups, int columns, int taps,
                          float2* scratch, Work work, Finish finish) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int share = on_chip_sharing(most_samples * groups * columns, taps);
  const int bits = 31 - __clz(share), slice = warp & (share - 1);
  const int items = samples * groups * columns, taps_each = taps >> bits;
  for (int base = 0; base < items; base += on_chip_warps >> bits) {
    const int item = base + (warp >> bits);
    // Divide only where needed: a division takes longer than the rest of this.
    const int rest = columns == 1 ? item : columns == 2 ? item / 2 : item / columns;
    const int column = item - rest * columns;
    const int sample = samples == 1 ? 0 : rest / groups, group = rest - sample * groups;
    Sums sums{};
    if (item < items) work(sample, group, column, slice * taps_each, (slice + 1) * taps_each, sums);
    if (share > 1) {
#pragma unroll
      for (int pair = 0; pair < 16; ++pair)
        scratch[(warp * 16 + pair) * 32 + lane] = {sums[pair % 4 / 2][pair / 4][pair % 2 * 2],
                                                   sums[pair % 4 / 2][pair / 4][pair % 2 * 2 + 1]};
      __syncthreads();
    }
    // With shared tiles each of the sharers finishes some of the columns.
    for (int j = slice; item < items && j < 4; j += share) {
      Finished v;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (share == 1) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            if (k == j)
              v[i][0] = sums[i / 2][k][i % 2 * 2], v[i][1] = sums[i / 2][k][i % 2 * 2 + 1];
        } else {
          float2 sum{};
          for (int other = 0; other < share; ++other) {
            const float2 part = scratch[((warp - slice + other) * 16 + j * 4 + i) * 32 + lane];
            sum.x += part.x, sum.y += part.y;
          }
          v[i][0] = sum.x, v[i][1] = sum.y;
        }
      }
      finish(sample, group, g, column * 32 + 8 * j + 2 * t, v);
    }
    if (share > 1) __syncthreads();
  }
}

constexpr int depth_step = 16;  // channels and filters are multiples of sixteen here

template <class M>
int on_chip_bytes_of(const GemmPart& p) {
  return static_cast<int>(on_chip_shared_bytes(p.kind, p.shape, p.split_depth,
                                               static_cast<int>(sizeof(typename M::Element)),
                                               p.tiles_m * p.tiles_n));
}

}  // namespace sweetspot::engine::cuda
