#pragma once
#include <type_traits>

#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/norm.h"
#include "engine/cuda/kernels/planes.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// What all kernels of batch normalisation have in common, and of the following activation and 2×2
// max pooling.
namespace sweetspot::engine::cuda {

using NormKernel = void (*)(NormPass);

namespace {

inline dim3 norm_blocks(const NormPass& n, int slices) {
  const int wide = 4 * n.shares.columns;
  return dim3(static_cast<unsigned>((n.padded + wide - 1) / wide), static_cast<unsigned>(slices));
}

// Calls make(…) with each bool as a constant.
template <class Make>
auto with_constants(Make make) {
  return make();
}
template <class Make, class... Bools>
auto with_constants(Make make, bool first, Bools... rest) {
  return first ? with_constants([&](auto... c) { return make(std::true_type{}, c...); }, rest...)
               : with_constants([&](auto... c) { return make(std::false_type{}, c...); }, rest...);
}

// ReLU, or no function, is one comparison; the others (`smooth`) have kernels of their own, since a
// choice for every element would cost more than the normalisation.
bool is_smooth(const NormPass& n) {
  return n.function != Function::linear && n.function != Function::relu;
}
template <bool smooth>
__device__ float4 norm_function(Function function, float4 y) {
  if constexpr (smooth) return each(y, [&](float v) { return activated(function, v); });
  return function == Function::relu ? each(y, rectified) : y;
}
// Some smooth functions are not zero at zero, but the padding must be.
__device__ float4 only_channels(const NormPass& n, int feature, float4 y) {
  return without_padding(y, feature % n.pitch, n.channels);
}

__device__ float4 scaled_by_gamma(const NormPass& n, int feature, float4 scale) {
  return n.gamma ? scale * load4(n.gamma + feature) : scale;
}
__device__ float4 shift_of(const NormPass& n, int feature) {
  return n.beta ? load4(n.beta + feature) : float4{};
}

// As store_value4(), for the two terms that are handed over at most.
__device__ void store_norm4(float* value, const ValueTerms& t, std::int64_t at, float4 v) {
  if (t.terms == 0) {
    store4(value + at, v);
    return;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(value) + at;
  const auto pack = [&](float4 w) {
    return t.fp16 ? uint2{Fp16::pack(w.x, w.y), Fp16::pack(w.z, w.w)}
                  : uint2{Bf16::pack(w.x, w.y), Bf16::pack(w.z, w.w)};
  };
  const uint2 first = pack(v);
  *reinterpret_cast<uint2*>(to) = first;
  if (t.terms > 1) *reinterpret_cast<uint2*>(to + t.stride) = pack(v - floats_of(first, false));
}

// The first of a window's four rows.
__device__ std::int64_t corner_of(const NormPass& n, int window) {
  const int line = n.by_windows_x.quotient(window);  // of all samples
  return std::int64_t{line} * (2 * n.width) + 2 * (window - line * n.by_windows_x.divisor);
}
__device__ int row_in_window(const NormPass& n, int slot) { return slot / 2 * n.width + slot % 2; }

// The place of a vector before the pooling: `slot` of a window, or the row `unit` itself.
template <bool pooled>
__device__ std::int64_t before_pooling(const NormPass& n, int unit, int slot, int feature) {
  const std::int64_t row = pooled ? corner_of(n, unit) + row_in_window(n, slot) : unit;
  return row * n.padded + feature;
}

// Keeps the larger elements, and the slot that they come from.
__device__ void keep_larger(float4& best, uchar4& code, float4 v, std::uint8_t slot) {
  if (beats(v.x, best.x)) best.x = v.x, code.x = slot;
  if (beats(v.y, best.y)) best.y = v.y, code.y = slot;
  if (beats(v.z, best.z)) best.z = v.z, code.z = slot;
  if (beats(v.w, best.w)) best.w = v.w, code.w = slot;
}
__device__ float4 of_slot(float4 g, uchar4 code, int slot) {
  return {code.x == slot ? g.x : 0.f, code.y == slot ? g.y : 0.f, code.z == slot ? g.z : 0.f,
          code.w == slot ? g.w : 0.f};
}

__device__ float middle(float a, float b, float c) {
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}
// A typical value of each feature, the same in all blocks: the deviations from it lose no precision
// to a large mean.
template <bool half>
__device__ float4 pivot_of(const NormPass& n, int feature) {
  const auto row = [&](int sevenths) {
    const auto at = static_cast<unsigned>(n.rows) * sevenths / 7u;
    return floats_of(load_raw4<half>(n.input, std::int64_t{at} * n.padded + feature),
                     n.input_terms.fp16);
  };
  const float4 a = row(1), b = row(3), c = row(5);
  return {middle(a.x, b.x, c.x), middle(a.y, b.y, c.y), middle(a.z, b.z, c.z),
          middle(a.w, b.w, c.w)};
}

// Mean and variance, from the sums of the deviations from the pivot and of their squares.
struct Statistics {
  float mean, variance;
  __device__ Statistics(float pivot, float sum, float squares, float each_row) {
    const float off = sum * each_row;
    mean = pivot + off, variance = squares * each_row - off * off;
    if (variance < 0) variance = 0;
  }
  __device__ float scale(const NormPass& n) const { return rsqrtf(variance + n.epsilon); }
  // `moving_mean` and `moving_variance` are those before.
  __device__ void store(const NormPass& n, int feature, float moving_mean,
                        float moving_variance) const {
    n.mean[feature] = mean, n.scale[feature] = scale(n);
    n.moving_mean[feature] = moving_mean * n.momentum + mean * (1 - n.momentum);
    n.moving_variance[feature] = moving_variance * n.momentum + variance * (1 - n.momentum);
  }
};

// The input's gradient is by_gradient · g + by_distance · (x − mean) + constant.
struct GradientFactors {
  float by_gradient, by_distance, constant, product;
  // Of the sums of g and of g (x − mean).
  __device__ GradientFactors(float gradient, float distance, float scale, float gamma,
                             float each_row)
      : by_gradient(scale * gamma), product(distance * scale) {
    by_distance = -by_gradient * scale * (product * each_row);
    constant = -by_gradient * (gradient * each_row);
  }
  // The gradients of scale and shift. Those of the input add up to zero, for every feature.
  __device__ void store(const NormPass& n, int feature, float gradient) const {
    if (n.gamma_gradient) n.gamma_gradient[feature] = product;
    if (n.beta_gradient) n.beta_gradient[feature] = gradient;
    if (n.sums) n.sums[feature] = 0;
    if (n.state && !isfinite(gradient)) n.state->bad = 1;
  }
};

// What is known of a thread's features when the gradients are computed.
struct Features {
  float4 mean{}, factor{}, shift{};
  __device__ Features(const NormPass& n, int feature) {
    if (feature >= n.padded) return;
    mean = load4(n.mean + feature);
    factor = scaled_by_gamma(n, feature, load4(n.scale + feature)), shift = shift_of(n, feature);
  }
};

// The gradient before the activation, and the distance of x from the mean.
struct GradientAt {
  float4 g, x;
  template <bool smooth>
  __device__ static GradientAt of(const NormPass& n, const Features& f, float4 x, float4 g) {
    x = x - f.mean;
    if (n.function != Function::linear)
      g = through_activation(smooth ? n.function : Function::relu,
                             norm_function<smooth>(n.function, x * f.factor + f.shift), g);
    return {g, x};
  }
};

}  // namespace
}  // namespace sweetspot::engine::cuda
