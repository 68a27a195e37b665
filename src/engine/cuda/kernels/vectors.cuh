#pragma once

// Arithmetic on four floats at a time: channels are padded to multiples of four, so every tensor
// consists of them.
namespace sweetspot::engine::cuda {

__device__ inline float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }
// For data written by another multiprocessor in the same launch: bypasses the L1 cache.
__device__ inline float4 load4_shared(const float* p) {
  return __ldcg(reinterpret_cast<const float4*>(p));
}
__device__ inline void store4(float* p, float4 v) { *reinterpret_cast<float4*>(p) = v; }

__device__ inline float4 operator+(float4 a, float4 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
__device__ inline float4 operator-(float4 a, float4 b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
}
__device__ inline float4 operator*(float4 a, float4 b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}
__device__ inline float4 operator*(float4 a, float b) {
  return {a.x * b, a.y * b, a.z * b, a.w * b};
}
template <class F>
__device__ float4 each(float4 v, F f) {
  return {f(v.x), f(v.y), f(v.z), f(v.w)};
}

}  // namespace sweetspot::engine::cuda
