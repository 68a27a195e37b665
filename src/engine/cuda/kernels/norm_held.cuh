#pragma once
#include <algorithm>

#include "engine/cuda/kernels/norm.cuh"

// Batch normalisation in one kernel, whose threads hold all values in shared memory between the
// statistics and their use. A block has up to four vectors of four features, one sector of memory
// per row, and all rows, or a slice of them, if several blocks together have all. Every thread
// copies its own vectors and is the only one to read them, so no barrier is needed, any number of
// copies is under way, and loops are not unrolled: such a kernel runs once per step, with all of
// its code from the L2 cache.
namespace sweetspot::engine::cuda {
namespace {

constexpr int most_held_warps = most_held_threads / 32;
constexpr int held_features = 4 * most_held_columns;

template <int bytes>
__device__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "n"(bytes)
               : "memory");
}
__device__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Rows of each of `blocks` blocks, a power of two; with pooling, windows.
__host__ __device__ inline int held_units(const NormPass& n, int blocks) {
  auto units = static_cast<unsigned>((n.pooled ? n.rows / 4 : n.rows) + blocks - 1);
#pragma unroll 1
  for (; blocks > 1; blocks >>= 1) units >>= 1;
  return static_cast<int>(units);
}

// The most units of a thread.
__host__ __device__ inline int held_units_each(const NormPass& n, int blocks, int threads) {
  return (held_units(n, blocks) * n.shares.columns + threads - 1) / threads;
}

// This thread's units: first, first + groups, …
template <bool pooled>
struct Held {
  static constexpr int each = pooled ? 4 : 1;  // vectors of a unit
  int column, first, end, groups, feature;

  __device__ Held(const NormPass& n, int blocks, int block) {
    const int bits = __ffs(n.shares.columns) - 1;
    column = threadIdx.x & (n.shares.columns - 1), groups = static_cast<int>(blockDim.x) >> bits;
    feature = (blockIdx.x * n.shares.columns + column) * 4;
    const int all = pooled ? n.rows / 4 : n.rows, share = held_units(n, blocks);
    first = block * share + (threadIdx.x >> bits);
    end = feature < n.padded ? min(block * share + share, all) : 0;
  }
  __device__ std::int64_t behind(const NormPass& n, int unit) const {
    return std::int64_t{unit} * n.padded + feature;
  }
};

template <bool half>
__device__ const void* address(const float* value, std::int64_t at) {
  if constexpr (half) return reinterpret_cast<const std::uint16_t*>(value) + at;
  return value + at;
}

// The feature of a thread of the first warp, whose first 16 lanes have the block's features: lane
// 4e + c has the e-th of column c.
struct OwnFeature {
  int feature;
  bool real;
  __device__ explicit OwnFeature(const NormPass& n) {
    const int column = threadIdx.x % most_held_columns;
    feature = (blockIdx.x * n.shares.columns + column) * 4 + threadIdx.x / most_held_columns;
    real = threadIdx.x < held_features && column < n.shares.columns && feature < n.padded;
  }
  __device__ float load(const float* from, float otherwise) const {
    return real && from ? from[feature] : otherwise;
  }
  // Where the block's threads find this feature's coefficients.
  __device__ int place() const {
    return threadIdx.x % most_held_columns * 4 + threadIdx.x / most_held_columns;
  }
};

// The sums over the warp of each column's eight values, one in every lane: lane 16s + 4e + c has
// element e of the s-th vector of column c. Each exchange halves what a lane still adds up.
__device__ float over_warp(float4 first, float4 second, int columns) {
  const int lane = threadIdx.x % 32;
  const auto other = [](float v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); };
  const bool high = lane & 16;
  const float4 keep = high ? second : first, give = high ? first : second;
  const float4 four =
      keep + float4{other(give.x, 16), other(give.y, 16), other(give.z, 16), other(give.w, 16)};
  const bool later = lane & 8;
  const float a = (later ? four.z : four.x) + other(later ? four.x : four.z, 8);
  const float b = (later ? four.w : four.y) + other(later ? four.y : four.w, 8);
  const bool odd = lane & 4;
  float sum = (odd ? b : a) + other(odd ? a : b, 4);
#pragma unroll 1
  for (int mask = 2; mask >= columns; mask >>= 1) sum += other(sum, mask);
  return sum;
}

// The sum of a lane's values of all warps.
using WarpSums = float[most_held_warps][32];
__device__ float over_warps(const WarpSums& parts) {
  static_assert(least_held_threads % (4 * 32) == 0);
  const int warps = static_cast<int>(blockDim.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < warps; i += 4)
    sum += parts[i][lane] + parts[i + 1][lane] + (parts[i + 2][lane] + parts[i + 3][lane]);
  return sum;
}

struct Coefficients {
  float values[3][held_features];
  __device__ float4 of(int which, int column) const { return load4(&values[which][4 * column]); }
};

template <bool half, bool pooled, bool smooth, class Blocks>
__global__ void __launch_bounds__(most_held_threads, 2)
    norm_held_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char slots[];
  __shared__ WarpSums parts;
  __shared__ __align__(16) float pivots[held_features];
  __shared__ __align__(16) Coefficients coefficients;
  const Blocks blocks;
  const Held<pooled> held(n, blocks.count(), blocks.rank());
  const OwnFeature own(n);
  const float gamma = own.load(n.gamma, 1), beta = own.load(n.beta, 0);
  const float moving_mean = own.load(n.moving_mean, 0);
  const float moving_variance = own.load(n.moving_variance, 0);
  const float each_row = 1 / static_cast<float>(n.rows);
  wait_for_predecessor();
  using Raw = Raw4<half>;
  Raw* const mine = reinterpret_cast<Raw*>(slots) + threadIdx.x;
  const int next = static_cast<int>(blockDim.x);
  Raw* to = mine;
#pragma unroll 1
  for (int unit = held.first; unit < held.end; unit += held.groups)
#pragma unroll
    for (int slot = 0; slot < held.each; ++slot, to += next)
      copy_async<sizeof(Raw)>(
          to, address<half>(n.input, before_pooling<pooled>(n, unit, slot, held.feature)));
  float4 pivot{}, sum{}, square{};
  if (held.feature < n.padded) pivot = pivot_of<half>(n, held.feature);
  wait_for_copies();
#pragma unroll 1
  for (const Raw* x = mine; x < to; x += next) {
    const float4 d = floats_of(*x, n.input_terms.fp16) - pivot;
    sum = sum + d, square = square + d * d;
  }
  parts[threadIdx.x / 32][threadIdx.x % 32] = over_warp(sum, square, n.shares.columns);
  if (threadIdx.x < n.shares.columns) store4(&pivots[4 * threadIdx.x], pivot);
  __syncthreads();
  const float total = blocks.total(parts);
  if (threadIdx.x < 32) {
    const float squares = __shfl_down_sync(0xffffffffu, total, 16);
    if (own.real) {
      const int place = own.place();
      const Statistics s(pivots[place], total, squares, each_row);
      coefficients.values[0][place] = s.mean;
      coefficients.values[1][place] = s.scale(n) * gamma;
      coefficients.values[2][place] = beta;
      if (blocks.rank() == 0) s.store(n, own.feature, moving_mean, moving_variance);
    }
  }
  __syncthreads();
  const float4 mean = coefficients.of(0, held.column), factor = coefficients.of(1, held.column);
  const float4 shift = coefficients.of(2, held.column);
  const auto value = [&](const Raw* x) {
    return norm_function<smooth>(n.function,
                                 (floats_of(*x, n.input_terms.fp16) - mean) * factor + shift);
  };
  const Raw* x = mine;
#pragma unroll 1
  for (int unit = held.first; unit < held.end; unit += held.groups, x += held.each * next) {
    float4 y = value(x);
    const std::int64_t at = held.behind(n, unit);
    if constexpr (pooled) {
      uchar4 code{};
#pragma unroll
      for (int slot = 1; slot < 4; ++slot)
        keep_larger(y, code, value(x + slot * next), static_cast<std::uint8_t>(slot));
      if (n.code) *reinterpret_cast<uchar4*>(n.code + at) = code;
    }
    store_norm4(n.output, n.output_terms, at, smooth ? only_channels(n, held.feature, y) : y);
  }
}

template <bool half_x, bool half_g, bool pooled, bool smooth, class Blocks>
__global__ void __launch_bounds__(most_held_threads, 2)
    norm_held_backward_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char slots[];
  __shared__ WarpSums parts;
  __shared__ __align__(16) Coefficients coefficients;
  const Blocks blocks;
  const Held<pooled> held(n, blocks.count(), blocks.rank());
  const OwnFeature own(n);
  const float scale = own.load(n.scale, 0), gamma = own.load(n.gamma, 1);
  const float each_row = 1 / static_cast<float>(n.rows);
  using X = Raw4<half_x>;
  using G = Raw4<half_g>;
  const int next = static_cast<int>(blockDim.x);
  const int most_units = held_units_each(n, blocks.count(), next);
  X* const my_x = reinterpret_cast<X*>(slots) + threadIdx.x;
  G* const my_g =
      reinterpret_cast<G*>(slots + most_units * held.each * next * sizeof(X)) + threadIdx.x;
  auto* const my_code =
      reinterpret_cast<uchar4*>(my_g - threadIdx.x + most_units * next) + threadIdx.x;
  // All of this is older than the predecessor.
  X* to_x = my_x;
  uchar4* to_code = my_code;
#pragma unroll 1
  for (int unit = held.first; unit < held.end; unit += held.groups, to_code += next) {
#pragma unroll
    for (int slot = 0; slot < held.each; ++slot, to_x += next)
      copy_async<sizeof(X)>(
          to_x, address<half_x>(n.input, before_pooling<pooled>(n, unit, slot, held.feature)));
    if constexpr (pooled) copy_async<sizeof(uchar4)>(to_code, n.code + held.behind(n, unit));
  }
  const Features f(n, held.feature);
  wait_for_predecessor();
  G* to_g = my_g;
#pragma unroll 1
  for (int unit = held.first; unit < held.end; unit += held.groups, to_g += next)
    copy_async<sizeof(G)>(to_g, address<half_g>(n.gradient, held.behind(n, unit)));
  wait_for_copies();
  const auto gradient_at = [&](int k, int slot) {
    float4 g = floats_of(my_g[k], n.gradient_terms.fp16);
    if constexpr (pooled) g = of_slot(g, my_code[k], slot);
    return GradientAt::of<smooth>(
        n, f, floats_of(my_x[k * held.each + slot * next], n.input_terms.fp16), g);
  };
  float4 gradient{}, product{};
  const int end = static_cast<int>(to_g - my_g);
#pragma unroll 1
  for (int k = 0; k < end; k += next)
#pragma unroll
    for (int slot = 0; slot < held.each; ++slot) {
      const GradientAt b = gradient_at(k, slot);
      gradient = gradient + b.g, product = product + b.g * b.x;
    }
  parts[threadIdx.x / 32][threadIdx.x % 32] = over_warp(gradient, product, n.shares.columns);
  __syncthreads();
  const float total = blocks.total(parts);
  if (threadIdx.x < 32) {
    const float distance = __shfl_down_sync(0xffffffffu, total, 16);
    if (own.real) {
      const int place = own.place();
      const GradientFactors factors(total, distance, scale, gamma, each_row);
      coefficients.values[0][place] = factors.by_gradient;
      coefficients.values[1][place] = factors.by_distance;
      coefficients.values[2][place] = factors.constant;
      if (blocks.rank() == 0) factors.store(n, own.feature, total);
    }
  }
  if (!n.input_gradient) return;
  __syncthreads();
  const float4 by_gradient = coefficients.of(0, held.column);
  const float4 by_distance = coefficients.of(1, held.column);
  const float4 constant = coefficients.of(2, held.column);
  int unit = held.first;
#pragma unroll 1
  for (int k = 0; k < end; k += next, unit += held.groups)
#pragma unroll
    for (int slot = 0; slot < held.each; ++slot) {
      const GradientAt b = gradient_at(k, slot);
      store_norm4(n.input_gradient, n.input_gradient_terms,
                  before_pooling<pooled>(n, unit, slot, held.feature),
                  by_gradient * b.g + (by_distance * b.x + constant));
    }
}

template <class Blocks>
NormKernel held_kernel(const NormPass& n, bool backward) {
  const bool half_x = n.input_terms.terms > 0, half_g = n.gradient_terms.terms > 0;
  if (backward)
    return with_constants(
        [](auto x, auto g, auto pooled, auto smooth) -> NormKernel {
          return norm_held_backward_kernel<decltype(x)::value, decltype(g)::value,
                                           decltype(pooled)::value, decltype(smooth)::value,
                                           Blocks>;
        },
        half_x, half_g, n.pooled, is_smooth(n));
  return with_constants(
      [](auto x, auto pooled, auto smooth) -> NormKernel {
        return norm_held_kernel<decltype(x)::value, decltype(pooled)::value,
                                decltype(smooth)::value, Blocks>;
      },
      half_x, n.pooled, is_smooth(n));
}

struct HeldLaunch {
  NormKernel kernel;
  int threads, bytes;
};
// Few vectors per thread, where there are few rows: a block's latency is that of its slowest warp.
template <class Blocks>
HeldLaunch held_launch(const NormPass& n, bool backward) {
  HeldLaunch l{held_kernel<Blocks>(n, backward), least_held_threads, 0};
  const int units = held_units(n, n.shares.slices) * n.shares.columns, vectors_each = 2;
  const int units_each = n.pooled ? 1 : vectors_each;
  while (l.threads < most_held_threads && units > l.threads * units_each) l.threads *= 2;
  l.bytes = held_units_each(n, n.shares.slices, l.threads) * l.threads * held_bytes(n, backward);
  return l;
}
inline cudaError_t allow_shared(const HeldLaunch& l) {
  constexpr int always_allowed = 32 * 1024, more = 128 * 1024;  // of 48 and 163, or 99, KiB
  if (l.bytes <= always_allowed) return cudaSuccess;
  return cudaFuncSetAttribute(l.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              std::min(more, current_chip().shared_bytes - 8 * 1024));
}

}  // namespace
}  // namespace sweetspot::engine::cuda
