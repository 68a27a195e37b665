#pragma once
#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// The ends of convolutions with few outputs, FewOutputs or TapProducts: four outputs of a position,
// from output o on, at element `at`.
namespace sweetspot::engine::cuda {

template <class Part>
__device__ void finish_value(const Part& p, std::int64_t at, int o, float (&v)[4]) {
  std::uint8_t code[4] = {};
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (o + e >= p.outputs) v[e] = 0;
    if (p.bias && o + e < p.outputs) v[e] += p.bias[o + e];
    if (p.relu) v[e] = rectified(v[e]), code[e] = v[e] == 0 ? no_gradient : std::uint8_t{0};
    if (o + e < p.outputs) v[e] = activated(p.function, v[e]);
  }
  store_value4(p.value, p.value_terms, at, {v[0], v[1], v[2], v[3]});
  if (p.code) *reinterpret_cast<uchar4*>(p.code + at) = {code[0], code[1], code[2], code[3]};
}
template <class Part>
__device__ void finish_gradient(const Part& p, std::int64_t at, int o, float (&v)[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e) v[e] = o + e < p.outputs ? v[e] * p.scale : 0.f;
  float4 all{v[0], v[1], v[2], v[3]};
  if (p.input_function != Function::linear)
    all = through_activation(p.input_function, load4(p.input_value + at), all);
  store4(p.input_gradient + at, all);
}

}  // namespace sweetspot::engine::cuda
