#pragma once
#include "engine/cuda/kernels/math.cuh"
#include "engine/cuda/kernels/vectors.cuh"

// Floats as 16-bit terms: the first is the rounded value, the second the rounded remainder, and so
// on. Three bf16 terms hold all 24 bits of a float.
namespace sweetspot::engine::cuda {

__device__ inline float bf16_rest(float v) { return v - __bfloat162float(__float2bfloat16_rn(v)); }

// Element `at` and the following ones of a value, as floats or terms.
__device__ inline void store_value2(float* value, const ValueTerms& t, std::int64_t at, float a,
                                    float b) {
  if (t.terms == 0) {
    *reinterpret_cast<float2*>(value + at) = {a, b};
    return;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(value) + at;
  if (t.fp16) {
    *reinterpret_cast<std::uint32_t*>(to) = Fp16::pack(a, b);
    return;
  }
  for (int i = 0; i < t.terms; ++i) {
    *reinterpret_cast<std::uint32_t*>(to + i * t.stride) = Bf16::pack(a, b);
    a = bf16_rest(a), b = bf16_rest(b);
  }
}
__device__ inline void store_value4(float* value, const ValueTerms& t, std::int64_t at, float4 v) {
  if (t.terms == 0) {
    store4(value + at, v);
    return;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(value) + at;
  if (t.fp16) {
    *reinterpret_cast<uint2*>(to) = {Fp16::pack(v.x, v.y), Fp16::pack(v.z, v.w)};
    return;
  }
  for (int i = 0; i < t.terms; ++i) {
    *reinterpret_cast<uint2*>(to + i * t.stride) = {Bf16::pack(v.x, v.y), Bf16::pack(v.z, v.w)};
    v = each(v, [](float e) { return bf16_rest(e); });
  }
}

}  // namespace sweetspot::engine::cuda
