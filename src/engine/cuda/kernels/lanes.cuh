#pragma once
#include "engine/cuda/kernels/params.h"
#include "engine/cuda/kernels/vectors.cuh"

// Products of few samples: a thread has four filters' weights and adds their products with each
// sample; lanes that divide the depth then add theirs.
namespace sweetspot::engine::cuda {

__device__ inline float of4(float4 v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ inline void add_product(float4& sum, float4 w, float x) {
  sum.x = fmaf(w.x, x, sum.x), sum.y = fmaf(w.y, x, sum.y);
  sum.z = fmaf(w.z, x, sum.z), sum.w = fmaf(w.w, x, sum.w);
}
__device__ inline float dot(float4 a, float4 b) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, a.x * b.x)));
}
// Zero where ReLU or dropout lets no gradient through, by the codes of values without pooling.
__device__ inline float4 let_through(float4 g, uchar4 code) {
  return {code.x ? 0.f : g.x, code.y ? 0.f : g.y, code.z ? 0.f : g.z, code.w ? 0.f : g.w};
}
__device__ inline float added(float a, float b) { return a + b; }
__device__ inline float4 added(float4 a, float4 b) { return a + b; }
__device__ inline float shuffled(float v, int mask) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}
__device__ inline float4 shuffled(float4 v, int mask) {
  return {shuffled(v.x, mask), shuffled(v.y, mask), shuffled(v.z, mask), shuffled(v.w, mask)};
}

// The products of four filters' weights of an input with its samples.
template <int samples>
__device__ void add_products(float4 (&sums)[samples], float4 w, const float* x) {
#pragma unroll
  for (int s = 0; s < samples; s += 4) {
    const float4 four = load4(x + s);
#pragma unroll
    for (int e = 0; e < 4; ++e) add_product(sums[s + e], w, of4(four, e));
  }
}
// The gradient of the weights of an input and four filters, from the filters' gradients.
template <int samples>
__device__ float4 over_samples(const float4 (&g)[samples], const float* x) {
  float4 sum{};
#pragma unroll
  for (int s = 0; s < samples; s += 4) {
    const float4 four = load4(x + s);
#pragma unroll
    for (int e = 0; e < 4; ++e) add_product(sum, g[s + e], of4(four, e));
  }
  return sum;
}

// Adds the `n` values of lanes that differ in bit `mask`: those without it keep the first half, the
// others the second one.
template <int n, class T>
__device__ void halve(T (&v)[n], bool upper, int mask, T (&to)[n / 2]) {
#pragma unroll
  for (int i = 0; i < n / 2; ++i) {
    const T mine = upper ? v[n / 2 + i] : v[i], other = upper ? v[i] : v[n / 2 + i];
    to[i] = added(mine, shuffled(other, mask));
  }
}

// Adds each of `n` values over the warp's lanes: lane i has the sum of value i / (32 / n). Of 32
// values this takes 31 exchanges, not five for each.
template <int mask = 16, int n>
__device__ float sum_over_lanes(float (&v)[n]) {
  if constexpr (mask == 0) {
    static_assert(n == 1);
    return v[0];
  } else if constexpr (n == 1) {
    float both[1] = {v[0] + shuffled(v[0], mask)};
    return sum_over_lanes<mask / 2>(both);
  } else {
    float half[n / 2];
    halve<n>(v, threadIdx.x & mask, mask, half);
    return sum_over_lanes<mask / 2>(half);
  }
}

// The inputs k0 … k0 + length of all samples in shared memory, (k, sample); those that do not exist
// are zero.
template <int samples, int pitch, int threads>
__device__ void load_inputs(const GemmPart& p, int k0, int length, float* to) {
  for (int k = threadIdx.x; k < length; k += threads) {
    float x[samples];
#pragma unroll
    for (int s = 0; s < samples; ++s)
      x[s] = s < p.count && k0 + k < p.shape.channels
                 ? p.input[std::int64_t{s} * p.shape.channels + k0 + k]
                 : 0.f;
#pragma unroll
    for (int s = 0; s < samples; s += 4)
      store4(to + k * pitch + s, {x[s], x[s + 1], x[s + 2], x[s + 3]});
  }
}

// The weight gradient of the inputs from k0 on, whose samples are in shared memory, and of the four
// filters from n on; also that of the bias, in the first warp, if k0 is 0.
template <int samples, int pitch, int rows, int warps>
__device__ void store_weight_gradient(const GemmPart& p, int k0, int n, const float4 (&g)[samples],
                                      const float* inputs) {
  const int warp = threadIdx.x / 32;
  bool finite = true;
  const auto store = [&](int row, float4 v) {
    finite = finite && isfinite(v.x + v.y + v.z + v.w);
    store4(p.partials + static_cast<std::int64_t>(row) * p.shape.filters + n, v);
  };
#pragma unroll 4
  for (int row = warp; row < rows; row += warps) {
    if (k0 + row >= p.shape.channels) break;
    store(k0 + row, over_samples(g, inputs + row * pitch));
  }
  if (k0 == 0 && warp == 0 && p.bias) {
    float4 sum{};
#pragma unroll
    for (int s = 0; s < samples; ++s) sum = sum + g[s];
    store(p.shape.channels, sum);
  }
  if (!finite) p.state->bad = 1;  // read only in fp16
}

}  // namespace sweetspot::engine::cuda
