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
  *reinterpret_cast<uint2*>(to) = {Bf16::pack(v.x, v.y), Bf16::pack(v.z, v.w)};
  for (int i = 1; i < t.terms; ++i) {
    v = each(v, [](float e) { return bf16_rest(e); });
    *reinterpret_cast<uint2*>(to + i * t.stride) = {Bf16::pack(v.x, v.y), Bf16::pack(v.z, v.w)};
  }
}

// Four elements as they are in memory: floats, or 16 bits each (`half`). Converting them is a
// separate step, so that many loads are under way before the first value is used.
__device__ inline float4 floats_of(float4 v, bool) { return v; }
__device__ inline float4 floats_of(uint2 v, bool fp16) {
  if (fp16) {
    const float2 first = __half22float2(reinterpret_cast<const __half2&>(v.x));
    const float2 second = __half22float2(reinterpret_cast<const __half2&>(v.y));
    return {first.x, first.y, second.x, second.y};
  }
  return {__uint_as_float(v.x << 16), __uint_as_float(v.x & 0xffff0000u),
          __uint_as_float(v.y << 16), __uint_as_float(v.y & 0xffff0000u)};
}
template <bool half>
__device__ auto load_raw4(const float* value, std::int64_t at) {
  if constexpr (half)
    return *reinterpret_cast<const uint2*>(reinterpret_cast<const std::uint16_t*>(value) + at);
  else
    return load4(value + at);
}
template <bool half>
using Raw4 = decltype(load_raw4<half>(nullptr, 0));

}  // namespace sweetspot::engine::cuda
