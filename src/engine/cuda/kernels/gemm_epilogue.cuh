#pragma once
#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/cluster.cuh"
#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loaders.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// The epilogues of a product: bias, activation, pooling and dropout of a layer's output, the input
// gradient, or the weight gradient.
namespace sweetspot::engine::cuda {

// Four rows (8 apart) and two adjacent columns of outputs: what one thread finishes at a time.
using Finished = float[4][2];

__device__ inline void store2(float* to, float a, float b) {
  *reinterpret_cast<float2*>(to) = {a, b};
}

// Rare epilogues: a function of the output or of the input, an output of terms. They are compiled
// separately, because loading unused code delays small batches.
inline bool ends_specially(const GemmPart& p) {
  return p.kind == GemmKind::data ? p.input_function != Function::linear
                                  : p.function != Function::linear || p.value_terms.terms > 0;
}

// Generates a random number for each element.
struct DrawnDropout {
  __device__ bool operator()(const GemmPart& p, int sample, int position, int n) const {
    const int y = p.by_window_w.quotient(position), x = position - y * p.by_window_w.divisor;
    return survives(p.dropout, sample, (y * p.dropout.full_width + x) * p.dropout.channels + n);
  }
};

template <bool special, class Dropout>
__device__ void finish_element(const GemmPart& p, int sample, int position, int n, float (&v)[2],
                               std::uint8_t (&code)[2], const Dropout& dropout) {
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    if (p.relu) v[e] = rectified(v[e]), code[e] = v[e] == 0 ? no_gradient : code[e];
    if (p.dropout.threshold) {
      if (dropout(p, sample, position, n + e))
        v[e] *= p.dropout.scale;
      else
        v[e] = 0, code[e] = no_gradient;
    }
  }
  const std::int64_t at =
      (static_cast<std::int64_t>(sample) * p.by_windows.divisor + position) * p.shape.filters + n;
  if constexpr (special)
    store_value2(p.value, p.value_terms, at, v[0], v[1]);
  else
    store2(p.value + at, v[0], v[1]);
  if (p.code) *reinterpret_cast<uchar2*>(p.code + at) = {code[0], code[1]};
}

// The four positions of a pooling window become one value.
template <bool special, class Dropout = DrawnDropout>
__device__ void finish_pooled(const GemmPart& p, int sample, int at, int n, Finished& v,
                              const Dropout& dropout = {}) {
  float best[2] = {v[0][0], v[0][1]};
  std::uint8_t code[2] = {0, 0};
#pragma unroll
  for (int i = 1; i < 4; ++i)
#pragma unroll
    for (int e = 0; e < 2; ++e)
      if (beats(v[i][e], best[e])) best[e] = v[i][e], code[e] = i;
  if (p.bias) best[0] += p.bias[n], best[1] += p.bias[n + 1];
  finish_element<special>(p, sample, at, n, best, code, dropout);
}

template <bool special, class Dropout = DrawnDropout>
__device__ void finish_plain(const GemmPart& p, int sample, int at, int n, float (&v)[2],
                             const Dropout& dropout = {}) {
  std::uint8_t code[2] = {0, 0};
  if (p.bias) v[0] += p.bias[n], v[1] += p.bias[n + 1];
  if (special && p.function != Function::linear)
#pragma unroll
    for (int e = 0; e < 2; ++e) v[e] = n + e < p.outputs ? activated(p.function, v[e]) : 0.f;
  finish_element<special>(p, sample, at, n, v, code, dropout);
}

// The sums of a tile as rows in shared memory, so that threads finish four adjacent columns. They
// are those of all blocks of a cluster, if its blocks have divided the depth: these share the rows.
template <int tile_rows, int tile_columns>
struct SumsTile {
  static constexpr int rows = tile_rows, columns = tile_columns, pitch = columns + 8;
  static constexpr int bytes = rows * pitch * 4;
  float* tile;
  int blocks = 1, rank = 0;  // of the cluster

  __device__ float* place(int row, int column) const { return tile + row * pitch + column; }
  // After all sums are written.
  __device__ void complete() const {
    if (blocks == 1)
      __syncthreads();
    else
      cluster_barrier();
  }
  __device__ float4 at(int row, int column) const {
    return blocks == 1 ? load4(place(row, column)) : sum4_of_cluster(place(row, column), blocks);
  }
  // Calls use(i) for this thread's share of the tile's rows, or of its windows of four; all of them
  // have the same four columns, from `column()` on.
  static constexpr int fours = columns / 4, together = block_threads / fours;
  __device__ static int column() { return static_cast<int>(threadIdx.x) % fours * 4; }
  template <int unroll, class Use>
  __device__ void each(int units, Use use) const {
    if (threadIdx.x >= fours * together) return;
#pragma unroll unroll
    for (int i = threadIdx.x / fours + together * rank; i < units; i += together * blocks) use(i);
  }
};

// Four outputs of a row (sample, position after the pooling) from filter f on, with the codes of
// the pooling.
template <bool special>
__device__ void finish_four(const GemmPart& p, int row, int f, float4 bias, float4 sums,
                            uchar4 pooled) {
  float v[4] = {sums.x + bias.x, sums.y + bias.y, sums.z + bias.z, sums.w + bias.w};
  std::uint8_t code[4] = {pooled.x, pooled.y, pooled.z, pooled.w};
  if (special && p.function != Function::linear) {
    float y[4] = {v[0], v[1], v[2], v[3]};
#pragma unroll 1  // less code to fetch
    for (int e = 0; e < 4; ++e) y[e] = f + e < p.outputs ? activated(p.function, y[e]) : 0.f;
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
  if constexpr (special)
    store_value4(p.value, p.value_terms, at, {v[0], v[1], v[2], v[3]});
  else
    store4(p.value + at, {v[0], v[1], v[2], v[3]});
  if (p.code) *reinterpret_cast<uchar4*>(p.code + at) = {code[0], code[1], code[2], code[3]};
}

// The outputs of a tile. With pooling its rows are positions of windows: `adjacent` ones, or eight
// apart in groups of 32.
template <bool special, bool adjacent, class Tile>
__device__ void finish_outputs(const GemmPart& p, int m0, int n0, const Tile& sums) {
  const int column = Tile::column(), f = n0 + column;
  if (f >= p.shape.filters) return;
  const float4 bias = p.bias ? load4(p.bias + f) : float4{};
  const int rows = p.count * static_cast<int>(p.by_windows.divisor);
  if (p.shape.pool != 2) {
    sums.template each<adjacent ? 4 : 2>(Tile::rows, [&](int row) {
      if (m0 + row < rows) finish_four<special>(p, m0 + row, f, bias, sums.at(row, column), {});
    });
    return;
  }
  sums.template each<1>(Tile::rows / 4, [&](int i) {
    const int window = m0 / 4 + i;
    if (window >= rows) return;
    const int first = adjacent ? 4 * i : i / 8 * 32 + i % 8;
    const float4 start = sums.at(first, column);
    float best[4] = {start.x, start.y, start.z, start.w};
    std::uint8_t code[4] = {0, 0, 0, 0};
#pragma unroll
    for (int k = 1; k < 4; ++k) {
      const float4 next = sums.at(first + k * (adjacent ? 1 : 8), column);
      const float v[4] = {next.x, next.y, next.z, next.w};
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (beats(v[e], best[e])) best[e] = v[e], code[e] = static_cast<std::uint8_t>(k);
    }
    finish_four<special>(p, window, f, bias, {best[0], best[1], best[2], best[3]},
                         {code[0], code[1], code[2], code[3]});
  });
}

// The input's row that row m of a phase is, or -1.
__device__ inline std::int64_t row_of_input(const GemmPart& p, const Phase& phase, int m) {
  if (m >= p.count * static_cast<int>(p.by_in.divisor)) return -1;
  if (p.phases == 1) return m;
  const ConvShape& s = p.shape;
  const int sample = p.by_in.quotient(m), at = m - sample * static_cast<int>(p.by_in.divisor);
  const int line = p.by_in_w.quotient(at), column = at - line * static_cast<int>(p.by_in_w.divisor);
  const int y = phase.y + (line + phase.first_y) * s.stride_h - s.pad_top;
  const int x = phase.x + (column + phase.first_x) * s.stride_w - s.pad_left;
  if (y >= s.in_h || x >= s.in_w) return -1;
  return (static_cast<std::int64_t>(sample) * s.in_h + y) * s.in_w + x;
}

// A gradient of the input, at element `at`, through the function that made the input.
__device__ inline float4 through_input_function(const GemmPart& p, std::int64_t at, float4 v) {
  if (p.input_function == Function::linear) return v;
  const float4 y = load4(p.input + at);
  return {through_activation(p.input_function, y.x, v.x),
          through_activation(p.input_function, y.y, v.y),
          through_activation(p.input_function, y.z, v.z),
          through_activation(p.input_function, y.w, v.w)};
}

// An operand that overflowed makes every sum it enters infinite or NaN, whatever it is multiplied
// by: checking these sums checks all gradients.
template <class M>
__device__ void check_range(const GemmPart& p, const Finished& v) {
  if constexpr (M::overflows)
    if (!isfinite(v[0][0] + v[0][1] + v[1][0] + v[1][1] + v[2][0] + v[2][1] + v[3][0] + v[3][1]))
      p.state->bad = 1;
}
template <class M>
__device__ void check_range(const GemmPart& p, float4 v) {
  if constexpr (M::overflows)
    if (!isfinite(v.x + v.y + v.z + v.w)) p.state->bad = 1;
}

}  // namespace sweetspot::engine::cuda
