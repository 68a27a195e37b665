#pragma once
#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/few_channels.h"
#include "engine/cuda/kernels/split_floats.cuh"

// What a convolution over few channels does with its sums.
namespace sweetspot::engine::cuda {

constexpr int outside = -30000;  // a row that no tap brings into the image

struct bool4 {
  bool x, y, z, w;
};
// Dropout of four filters from n on, at one of all positions.
__device__ inline void drop(const FewChannels& p, int m, int n, float4& v, bool4& blocked) {
  const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
  const int y = p.by_out_w.quotient(at), x = at - y * p.shape.out_w;
  const std::uint32_t first = (y * p.dropout.full_width + x) * p.dropout.channels + n;
  const auto each = [&](int e, float& value, bool& is_blocked) {
    if (survives(p.dropout, sample, first + e))
      value *= p.dropout.scale;
    else
      value = 0, is_blocked = true;
  };
  each(0, v.x, blocked.x), each(1, v.y, blocked.y), each(2, v.z, blocked.z);
  each(3, v.w, blocked.w);
}

// Four filters from n on, at one of all positions. `special`: with a function, dropout or terms.
inline bool special_outputs(const FewChannels& p) {
  return p.function != Function::linear || p.value_terms.terms > 0 || p.dropout.threshold > 0;
}
template <bool special>
__device__ void store_outputs(const FewChannels& p, int m, int n, float4 v) {
  const std::int64_t at = static_cast<std::int64_t>(m) * p.shape.filters + n;
  bool4 blocked{};
  if (p.relu) {
    v = each(v, [](float e) { return rectified(e); });
    blocked = {v.x == 0, v.y == 0, v.z == 0, v.w == 0};
  }
  if constexpr (special) {
    if (p.function != Function::linear)
      v = {n < p.outputs ? activated(p.function, v.x) : 0.f,
           n + 1 < p.outputs ? activated(p.function, v.y) : 0.f,
           n + 2 < p.outputs ? activated(p.function, v.z) : 0.f,
           n + 3 < p.outputs ? activated(p.function, v.w) : 0.f};
    if (p.dropout.threshold) drop(p, m, n, v, blocked);
    store_value4(p.value, p.value_terms, at, v);
  } else {
    store4(p.value + at, v);
  }
  const auto code = [](bool is) { return is ? no_gradient : std::uint8_t{0}; };
  if (p.code)
    *reinterpret_cast<uchar4*>(p.code + at) = {code(blocked.x), code(blocked.y), code(blocked.z),
                                               code(blocked.w)};
}

}  // namespace sweetspot::engine::cuda
