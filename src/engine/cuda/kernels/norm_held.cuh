#pragma once
#include "engine/cuda/kernels/norm.cuh"
#include "engine/cuda/kernels/norm_held.h"

// Batch normalisation in one kernel, whose threads hold all values in registers between the
// statistics and their use. A block has `columns` vectors of four features, a power of two, and all
// rows, or a slice of them, if several blocks together have all. Little code, few barriers, and no
// division by anything unknown at compile time: such a kernel costs what its latencies add up to.
namespace sweetspot::engine::cuda {
namespace {

constexpr int held_warps = threads / 32;

// This thread's vectors: rows of its column, or, with pooling, the four rows of windows.
template <int rows, bool pooled>
struct Held {
  static constexpr int each = pooled ? 4 : 1, units = rows / each;
  int column, group, groups, feature, first, end;
  bool real;

  __device__ explicit Held(const NormPass& n) {
    const int bits = __ffs(n.columns) - 1, slice_bits = __ffs(static_cast<int>(gridDim.y)) - 1;
    column = threadIdx.x & (n.columns - 1), group = threadIdx.x >> bits, groups = threads >> bits;
    feature = (blockIdx.x * n.columns + column) * 4;
    const int all = pooled ? n.rows / 4 : n.rows;
    const int share = (all + static_cast<int>(gridDim.y) - 1) >> slice_bits;
    const int begin = static_cast<int>(blockIdx.y) * share;
    first = begin + group, end = min(begin + share, all);
    real = feature < n.padded;
  }
  __device__ int unit(int i) const { return first + i * groups; }
  __device__ bool has(int i) const { return real && unit(i) < end; }
  __device__ std::int64_t at(const NormPass& n, int i, int slot) const {
    const std::int64_t row = pooled ? corner_of(n, unit(i)) + row_in_window(n, slot) : unit(i);
    return row * n.padded + feature;
  }
  // Calls use(unit, slot, index) for each vector that exists.
  template <class Use>
  __device__ void every(Use use) const {
#pragma unroll
    for (int i = 0; i < units; ++i)
      if (has(i))
#pragma unroll
        for (int slot = 0; slot < each; ++slot) use(i, slot, i * each + slot);
  }
};

// The sum over the block of each column's values, in every thread. `shared` is used once.
template <int count>
__device__ void add_groups(float4 (&v)[count], const NormPass& n, int column,
                           float4 (&shared)[count][threads]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    for (int mask = n.columns; mask < 32; mask *= 2)
      v[i] = v[i] + float4{__shfl_xor_sync(0xffffffffu, v[i].x, mask),
                           __shfl_xor_sync(0xffffffffu, v[i].y, mask),
                           __shfl_xor_sync(0xffffffffu, v[i].z, mask),
                           __shfl_xor_sync(0xffffffffu, v[i].w, mask)};
    if (lane < n.columns) shared[i][warp * n.columns + lane] = v[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < count; ++i) {
    v[i] = {};
#pragma unroll
    for (int w = 0; w < held_warps; ++w) v[i] = v[i] + shared[i][w * n.columns + column];
  }
}

template <bool smooth>
__device__ float4 held_function(Function function, float4 y) {
  if constexpr (smooth) return each(y, [&](float v) { return activated(function, v); });
  return function == Function::relu ? each(y, rectified) : y;
}

template <int rows, bool pooled, bool smooth, class Blocks>
__device__ void norm_held(const NormPass& n, Blocks blocks) {
  __shared__ float4 sums[2][1][threads];
  const Held<rows, pooled> held(n);
  const bool stores = held.real && held.group == 0 && blocks.first();
  float4 gamma{1, 1, 1, 1}, beta{}, moving_mean{}, moving_variance{};
  if (held.real && n.gamma) gamma = load4(n.gamma + held.feature);
  if (held.real && n.beta) beta = load4(n.beta + held.feature);
  if (stores)
    moving_mean = load4(n.moving_mean + held.feature),
    moving_variance = load4(n.moving_variance + held.feature);
  blocks.begin();
  float4 x[rows] = {};
  held.every([&](int i, int slot, int k) { x[k] = load4(n.input + held.at(n, i, slot)); });
  const float each_row = 1 / static_cast<float>(n.rows);
  float4 total[1] = {};
#pragma unroll
  for (int k = 0; k < rows; ++k) total[0] = total[0] + x[k];
  add_groups(total, n, held.column, sums[0]);
  blocks.template add<0>(total, n, held.column);
  const float4 mean = total[0] * each_row;
  total[0] = {};
  held.every([&](int, int, int k) {
    x[k] = x[k] - mean;
    total[0] = total[0] + x[k] * x[k];
  });
  add_groups(total, n, held.column, sums[1]);
  blocks.template add<1>(total, n, held.column);
  const float4 variance = total[0] * each_row;
  const float4 scale = each(variance, [&](float v) { return 1 / sqrtf(v + n.epsilon); });
  const float4 factor = scale * gamma;
  if constexpr (pooled) {
#pragma unroll
    for (int i = 0; i < rows / 4; ++i) {
      if (!held.has(i)) break;
      float best[4];
      std::uint8_t code[4];
#pragma unroll
      for (int slot = 0; slot < 4; ++slot) {
        const float4 y4 = held_function<smooth>(n.function, x[i * 4 + slot] * factor + beta);
        const float y[4] = {y4.x, y4.y, y4.z, y4.w};
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (slot == 0 || beats(y[e], best[e]))
            best[e] = y[e], code[e] = static_cast<std::uint8_t>(slot);
      }
      const std::int64_t to = std::int64_t{held.unit(i)} * n.padded + held.feature;
      store_value4(n.output, n.output_terms, to,
                   only_channels(n, held.feature, {best[0], best[1], best[2], best[3]}));
      if (n.code) *reinterpret_cast<uchar4*>(n.code + to) = {code[0], code[1], code[2], code[3]};
    }
  } else {
    held.every([&](int i, int slot, int k) {
      store_value4(
          n.output, n.output_terms, held.at(n, i, slot),
          only_channels(n, held.feature, held_function<smooth>(n.function, x[k] * factor + beta)));
    });
  }
  if (stores) {
    store4(n.mean + held.feature, mean), store4(n.scale + held.feature, scale);
    const auto move = [&](float* moving, float4 before, float4 now) {
      store4(moving + held.feature, before * n.momentum + now * (1 - n.momentum));
    };
    move(n.moving_mean, moving_mean, mean), move(n.moving_variance, moving_variance, variance);
  }
  blocks.leave();
}

template <int rows, bool pooled, bool smooth, class Blocks>
__device__ void norm_held_backward(const NormPass& n, Blocks blocks) {
  __shared__ float4 sums[2][threads];
  const Held<rows, pooled> held(n);
  // All of this is older than the predecessor.
  float4 mean{}, scale{}, factor{}, shift{}, x[rows] = {};
  uchar4 code[rows / Held<rows, pooled>::each];
  if (held.real) {
    mean = load4(n.mean + held.feature), scale = load4(n.scale + held.feature);
    factor = scaled_by_gamma(n, held.feature, scale), shift = shift_of(n, held.feature);
  }
  held.every([&](int i, int slot, int k) {
    x[k] = load4(n.input + held.at(n, i, slot));
    if (pooled && slot == 0)
      code[i] = *reinterpret_cast<const uchar4*>(n.code + std::int64_t{held.unit(i)} * n.padded +
                                                 held.feature);
  });
  blocks.begin();
  float4 g[rows] = {};
  held.every([&](int i, int slot, int k) {
    if (pooled && slot > 0) return;
    const float4 whole = load4(n.gradient + std::int64_t{held.unit(i)} * n.padded + held.feature);
    if constexpr (pooled) {
#pragma unroll
      for (int s = 0; s < 4; ++s)
        g[k + s] = {code[i].x == s ? whole.x : 0.f, code[i].y == s ? whole.y : 0.f,
                    code[i].z == s ? whole.z : 0.f, code[i].w == s ? whole.w : 0.f};
    } else {
      g[k] = whole;
    }
  });
  float4 totals[2] = {};
  held.every([&](int, int, int k) {
    x[k] = x[k] - mean;
    if (n.function != Function::linear)
      g[k] = through_activation(smooth ? n.function : Function::relu,
                                held_function<smooth>(n.function, x[k] * factor + shift), g[k]);
    totals[0] = totals[0] + g[k], totals[1] = totals[1] + g[k] * x[k];
  });
  add_groups(totals, n, held.column, sums);
  blocks.template add<0>(totals, n, held.column);
  const bool stores = held.real && held.group == 0 && blocks.first();
  const Means means = settle_totals(n, held.feature, {totals[0], totals[1]}, scale, stores);
  if (n.input_gradient) {
    const float4 by_distance = means.product * scale;
    float4 sum[1] = {};
    held.every([&](int i, int slot, int k) {
      const float4 v = factor * (g[k] - means.gradient - x[k] * by_distance);
      store_value4(n.input_gradient, n.input_gradient_terms, held.at(n, i, slot), v);
      sum[0] = sum[0] + v;
    });
    if (n.sums) {
      __shared__ float4 of_columns[1][threads];
      add_groups(sum, n, held.column, of_columns);
      if (held.real && held.group == 0)
        store4(n.sums + std::int64_t{blockIdx.y} * n.padded + held.feature, sum[0]);
    }
  }
  blocks.leave();
}

template <int rows, bool pooled, bool smooth, class Blocks>
__global__ void __launch_bounds__(threads, 1) norm_held_kernel(const __grid_constant__ NormPass n) {
  norm_held<rows, pooled, smooth>(n, Blocks{});
}
template <int rows, bool pooled, bool smooth, class Blocks>
__global__ void __launch_bounds__(threads, 1)
    norm_held_backward_kernel(const __grid_constant__ NormPass n) {
  norm_held_backward<rows, pooled, smooth>(n, Blocks{});
}

using NormKernel = void (*)(NormPass);
// The kernel whose threads hold as few rows as the pass needs. Rare functions have one size.
template <class Blocks>
NormKernel held_kernel(const NormPass& n, int blocks, bool backward) {
  const int groups = threads / n.columns;
  const int units = ((n.pooled ? n.rows / 4 : n.rows) + blocks - 1) / blocks;
  const int needed = (units + groups - 1) / groups * (n.pooled ? 4 : 1);
  const bool smooth = n.function == Function::sigmoid || n.function == Function::tanh;
  const auto pick = [&](NormKernel forward_one, NormKernel backward_one) {
    return backward ? backward_one : forward_one;
  };
  if (smooth && n.pooled)
    return pick(norm_held_kernel<8, true, true, Blocks>,
                norm_held_backward_kernel<8, true, true, Blocks>);
  if (smooth)
    return pick(norm_held_kernel<8, false, true, Blocks>,
                norm_held_backward_kernel<8, false, true, Blocks>);
  if (n.pooled)
    return needed <= 4 ? pick(norm_held_kernel<4, true, false, Blocks>,
                              norm_held_backward_kernel<4, true, false, Blocks>)
                       : pick(norm_held_kernel<8, true, false, Blocks>,
                              norm_held_backward_kernel<8, true, false, Blocks>);
  return needed <= 1   ? pick(norm_held_kernel<1, false, false, Blocks>,
                              norm_held_backward_kernel<1, false, false, Blocks>)
         : needed <= 4 ? pick(norm_held_kernel<4, false, false, Blocks>,
                              norm_held_backward_kernel<4, false, false, Blocks>)
                       : pick(norm_held_kernel<8, false, false, Blocks>,
                              norm_held_backward_kernel<8, false, false, Blocks>);
}

}  // namespace
}  // namespace sweetspot::engine::cuda
