#pragma once
#include "engine/cuda/kernels/gemm.cuh"
#include "engine/cuda/kernels/packing.h"

// What follows the sums of a tile of packed operands: the epilogues of gemm_epilogue.cuh, row by
// row.
namespace sweetspot::engine::cuda {

constexpr int packed_threads = 256;  // that hold sums: two warpgroups of 64 rows

// Transposes sums through shared memory, so that they are stored as rows.
template <int n>
struct SumsTile {
  static constexpr int pitch = n + 8;
  static constexpr int bytes = packed_rows * pitch * 4;
  float* tile;
  __device__ SumsTile(float* shared, const float (&sums)[n / 2]) : tile(shared) {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < n / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        store2(tile + (16 * warp + g + 8 * half) * pitch + 8 * j + 2 * t, sums[4 * j + 2 * half],
               sums[4 * j + 2 * half + 1]);
    __syncthreads();
  }
  __device__ float4 at(int row, int column) const { return load4(tile + row * pitch + column); }
  // Calls use(row) for this thread's rows, of every `step` one; all of them have the same four
  // columns, from `column()` on.
  static constexpr int fours = n / 4, together = packed_threads / fours;
  __device__ static int column() { return threadIdx.x % fours * 4; }
  template <int step, class Use>
  __device__ void each(Use use) const {
    if (threadIdx.x >= fours * together) return;
#pragma unroll 4
    for (int i = threadIdx.x / fours; i < packed_rows / step; i += together) use(i * step);
  }
};

// Four outputs of a row (sample, position after the pooling) from filter f on, with the codes of
// the pooling.
__device__ inline void finish_four(const GemmPart& p, int row, int f, float4 bias, float4 sums,
                                   uchar4 pooled) {
  float v[4] = {sums.x + bias.x, sums.y + bias.y, sums.z + bias.z, sums.w + bias.w};
  std::uint8_t code[4] = {pooled.x, pooled.y, pooled.z, pooled.w};
  if (p.function != Function::linear) {
    float y[4] = {v[0], v[1], v[2], v[3]};
#pragma unroll 1  // less code to fetch
    for (int e = 0; e < 4; ++e) y[e] = activated(p.function, y[e]);
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = y[e];
  }
  if (p.relu)
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = rectified(v[e]), code[e] = v[e] == 0 ? no_gradient : code[e];
  if (p.dropout.threshold) {
    const int sample = p.by_windows.quotient(row);
    const int position = row - sample * static_cast<int>(p.by_windows.divisor);
    bool kept[4];
#pragma unroll 1  // likewise
    for (int e = 0; e < 4; ++e) kept[e] = DrawnDropout{}(p, sample, position, f + e);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      v[e] = kept[e] ? v[e] * p.dropout.scale : 0.f;
      if (!kept[e]) code[e] = no_gradient;
    }
  }
  const std::int64_t at = static_cast<std::int64_t>(row) * p.shape.filters + f;
  store_value4(p.value, p.value_terms, at, {v[0], v[1], v[2], v[3]});
  if (p.code) *reinterpret_cast<uchar4*>(p.code + at) = {code[0], code[1], code[2], code[3]};
}

// Zero where a code lets no gradient through.
__device__ inline float4 routed(float4 g, uchar4 code) {
  return {code.x ? 0.f : g.x, code.y ? 0.f : g.y, code.z ? 0.f : g.z, code.w ? 0.f : g.w};
}

// The input gradient of a tile's row, through the function or the codes of its producer. Here
// `value_terms` says how it is stored, `code` are its producer's, and `partials` gets its columns'
// sums.
__device__ inline float4 finish_data(const GemmPart& p, std::int64_t at, float4 v) {
  v = v * p.scale;
  if (p.input_function != Function::linear) {
    const float4 y = load4(p.input + at);
    v = {through_activation(p.input_function, y.x, v.x),
         through_activation(p.input_function, y.y, v.y),
         through_activation(p.input_function, y.z, v.z),
         through_activation(p.input_function, y.w, v.w)};
  }
  if (p.code) v = routed(v, *reinterpret_cast<const uchar4*>(p.code + at));
  store_value4(p.input_gradient, p.value_terms, at, v);
  return v;
}

// `place` locates a row of the weight gradient: its tap and channel, or false for none. `tile_row`
// is that of the tile, over all phases.
template <class M, GemmKind kind, int n, class Place>
__device__ void finish_packed(const GemmPart& p, const Phase& phase, int tile_row, int m0, int n0,
                              int split, float* shared, const float (&sums)[n / 2],
                              const Place& place) {
  const ConvShape& s = p.shape;
  const SumsTile<n> finished(shared, sums);
  const int column = SumsTile<n>::column(), to_column = n0 + column;
  // Filters and channels are multiples of four.
  const int channels = static_cast<int>(p.by_channels.divisor);
  const bool real = to_column < (kind == GemmKind::data ? channels : s.filters);
  if (kind != GemmKind::data && !real) return;
  if constexpr (kind == GemmKind::forward) {
    const float4 bias = p.bias ? load4(p.bias + to_column) : float4{};
    const int rows = p.count * static_cast<int>(p.by_windows.divisor);
    if (s.pool == 2) {
      finished.template each<4>([&](int row) {
        const int window = (m0 + row) / 4;
        if (window >= rows) return;
        const float4 first = finished.at(row, column);
        float best[4] = {first.x, first.y, first.z, first.w};
        std::uint8_t code[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 1; i < 4; ++i) {
          const float4 next = finished.at(row + i, column);
          const float v[4] = {next.x, next.y, next.z, next.w};
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (beats(v[e], best[e])) best[e] = v[e], code[e] = static_cast<std::uint8_t>(i);
        }
        finish_four(p, window, to_column, bias, {best[0], best[1], best[2], best[3]},
                    {code[0], code[1], code[2], code[3]});
      });
    } else {
      finished.template each<1>([&](int row) {
        if (m0 + row < rows)
          finish_four(p, m0 + row, to_column, bias, finished.at(row, column), {});
      });
    }
  } else if constexpr (kind == GemmKind::data) {
    const int rows = p.count * static_cast<int>(p.by_in.divisor);
    float4 sum{};
    finished.template each<1>([&](int row) {
      const int m = m0 + row;
      if (m >= rows || !real) return;
      std::int64_t to = m;
      if (p.phases > 1) {
        const int sample = p.by_in.quotient(m), at = m - sample * p.by_in.divisor;
        const int line = p.by_in_w.quotient(at);
        const int y = phase.y + (line + phase.first_y) * s.stride_h - s.pad_top;
        const int x =
            phase.x + (at - line * p.by_in_w.divisor + phase.first_x) * s.stride_w - s.pad_left;
        if (y >= s.in_h || x >= s.in_w) return;
        to = (static_cast<std::int64_t>(sample) * s.in_h + y) * s.in_w + x;
      }
      sum = sum + finish_data(p, to * channels + to_column, finished.at(row, column));
    });
    if (!p.partials) return;
    // The sums of the columns, group of rows by group.
    __syncthreads();
    auto* parts = reinterpret_cast<float4*>(shared);
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= SumsTile<n>::fours || !real) return;
#pragma unroll
    for (int group = 1; group < SumsTile<n>::together; ++group)
      sum = sum + parts[group * SumsTile<n>::fours + threadIdx.x];
    store4(p.partials + static_cast<std::int64_t>(tile_row) * channels + to_column, sum);
  } else {
    float* const to = p.partials + split * p.partial_stride + to_column;
    finished.template each<1>([&](int row) {
      int tap, c;
      if (!place(row, tap, c)) return;
      const float4 v = finished.at(row, column);
      if (M::overflows && !isfinite(v.x + v.y + v.z + v.w)) p.state->bad = 1;
      if (c < channels) store4(to + static_cast<std::int64_t>(tap * channels + c) * s.filters, v);
    });
  }
}

}  // namespace sweetspot::engine::cuda
