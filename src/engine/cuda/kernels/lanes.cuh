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
__device__ inline float added(float a, float b) { return a + b; }
__device__ inline float4 added(float4 a, float4 b) { return a + b; }
__device__ inline float shuffled(float v, int mask) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}
__device__ inline float4 shuffled(float4 v, int mask) {
  return {shuffled(v.x, mask), shuffled(v.y, mask), shuffled(v.z, mask), shuffled(v.w, mask)};
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

}  // namespace sweetspot::engine::cuda
