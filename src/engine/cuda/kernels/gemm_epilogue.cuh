#pragma once
#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loaders.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// The epilogues of a product: bias, activation, pooling and dropout of a layer's output, the input
// gradient, or the weight gradient.
namespace sweetspot::engine::cuda {

// Four rows (8 apart) and two adjacent columns of outputs: what one thread finishes at a time.
using Finished = float[4][2];

__device__ inline void store2(float* to, float a, float b) {
  *reinterpret_cast<float2*>(to) = {a, b};
}

// Rare epilogues: a function of the output or of the input, an output of terms. They are compiled
// separately, because loading unused code delays small batches.
inline bool ends_specially(const GemmPart& p) {
  return p.kind == GemmKind::data ? p.input_function != Function::linear
                                  : p.function != Function::linear || p.value_terms.terms > 0;
}

// A gradient of the input, at element `at`: applies the derivative of the function that made the
// input.
template <bool special>
__device__ void store2_through(const GemmPart& p, float* to, std::int64_t at, float a, float b) {
  if (special && p.input_function != Function::linear) {
    const float2 y = *reinterpret_cast<const float2*>(p.input + at);
    a = through_activation(p.input_function, y.x, a);
    b = through_activation(p.input_function, y.y, b);
  }
  store2(to + at, a, b);
}

// Generates a random number for each element.
struct DrawnDropout {
  __device__ bool operator()(const GemmPart& p, int sample, int position, int n) const {
    const int y = p.by_window_w.quotient(position), x = position - y * p.by_window_w.divisor;
    return survives(p.dropout, sample, (y * p.dropout.full_width + x) * p.dropout.channels + n);
  }
};

template <bool special, class Dropout>
__device__ void finish_element(const GemmPart& p, int sample, int position, int n, float (&v)[2],
                               std::uint8_t (&code)[2], const Dropout& dropout) {
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    if (p.relu) v[e] = rectified(v[e]), code[e] = v[e] == 0 ? no_gradient : code[e];
    if (p.dropout.threshold) {
      if (dropout(p, sample, position, n + e))
        v[e] *= p.dropout.scale;
      else
        v[e] = 0, code[e] = no_gradient;
    }
  }
  const std::int64_t at =
      (static_cast<std::int64_t>(sample) * p.by_windows.divisor + position) * p.shape.filters + n;
  if constexpr (special)
    store_value2(p.value, p.value_terms, at, v[0], v[1]);
  else
    store2(p.value + at, v[0], v[1]);
  if (p.code) *reinterpret_cast<uchar2*>(p.code + at) = {code[0], code[1]};
}

// The four positions of a pooling window become one value.
template <bool special, class Dropout = DrawnDropout>
__device__ void finish_pooled(const GemmPart& p, int sample, int at, int n, Finished& v,
                              const Dropout& dropout = {}) {
  float best[2] = {v[0][0], v[0][1]};
  std::uint8_t code[2] = {0, 0};
#pragma unroll
  for (int i = 1; i < 4; ++i)
#pragma unroll
    for (int e = 0; e < 2; ++e)
      if (beats(v[i][e], best[e])) best[e] = v[i][e], code[e] = i;
  if (p.bias) best[0] += p.bias[n], best[1] += p.bias[n + 1];
  finish_element<special>(p, sample, at, n, best, code, dropout);
}

template <bool special, class Dropout = DrawnDropout>
__device__ void finish_plain(const GemmPart& p, int sample, int at, int n, float (&v)[2],
                             const Dropout& dropout = {}) {
  std::uint8_t code[2] = {0, 0};
  if (p.bias) v[0] += p.bias[n], v[1] += p.bias[n + 1];
  if (special && p.function != Function::linear)
    v[0] = activated(p.function, v[0]), v[1] = activated(p.function, v[1]);
  finish_element<special>(p, sample, at, n, v, code, dropout);
}

// `looped`: v is in memory, as in each_finished.
template <bool special, bool looped>
__device__ void finish_forward(const GemmPart& p, int group, int g, int n, Finished& v) {
  if (n >= p.shape.filters) return;
  if (p.shape.pool == 2) {
    const int window = group / 4 + g, sample = p.by_windows.quotient(window);
    if (sample < p.count)
      finish_pooled<special>(p, sample, window - sample * p.by_windows.divisor, n, v);
    return;
  }
#pragma unroll looped ? 1 : 4
  for (int i = 0; i < 4; ++i) {
    const int m = group + g + 8 * i, sample = p.by_windows.quotient(m);
    if (sample < p.count)
      finish_plain<special>(p, sample, m - sample * p.by_windows.divisor, n, v[i]);
  }
}

// The input gradient, or one of its slices.
template <bool dense, bool special>
__device__ void finish_data(const GemmPart& p, const Phase& phase, int split, int group, int g,
                            int n, Finished& v) {
  const ConvShape& s = p.shape;
  if (n >= s.channels) return;
  float* to = p.splits > 1 && !p.tickets ? p.slices + split * p.slice_stride : p.input_gradient;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int m = group + g + 8 * i;
    if (m >= p.count * static_cast<int>(p.by_in.divisor)) continue;
    std::int64_t row = m;
    if (!dense && p.phases > 1) {
      const int sample = p.by_in.quotient(m), at = m - sample * p.by_in.divisor;
      const int line = p.by_in_w.quotient(at), column = at - line * p.by_in_w.divisor;
      const int y = phase.y + (line + phase.first_y) * s.stride_h - s.pad_top;
      const int x = phase.x + (column + phase.first_x) * s.stride_w - s.pad_left;
      if (y >= s.in_h || x >= s.in_w) continue;
      row = (static_cast<std::int64_t>(sample) * s.in_h + y) * s.in_w + x;
    }
    store2_through<special>(p, to, row * s.channels + n, v[i][0] * p.scale, v[i][1] * p.scale);
  }
}

// A slice of a dense layer's sums, (samples, filters).
__device__ inline void finish_slice(const GemmPart& p, int split, int rows, int columns, int group,
                                    int g, int n, Finished& v) {
  if (n >= columns) return;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (const int m = group + g + 8 * i; m < rows)
      store2(p.slices + split * p.slice_stride + static_cast<std::int64_t>(m) * columns + n,
             v[i][0], v[i][1]);
}

// An operand that overflowed makes every sum it enters infinite or NaN, whatever it is multiplied
// by: checking these sums checks all gradients.
template <class M>
__device__ void check_range(const GemmPart& p, const Finished& v) {
  if constexpr (M::overflows)
    if (!isfinite(v[0][0] + v[0][1] + v[1][0] + v[1][1] + v[2][0] + v[2][1] + v[3][0] + v[3][1]))
      p.state->bad = 1;
}

template <class M>
__device__ void finish_weights(const GemmPart& p, int split, int group, int g, int n, Finished& v) {
  if (n >= p.shape.filters) return;
  check_range<M>(p, v);
  float* to = p.partials + split * p.partial_stride;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int m = group + g + 8 * i;
    if (m < p.shape.kernel_h * p.shape.kernel_w * p.shape.channels)
      store2(to + static_cast<std::int64_t>(m) * p.shape.filters + n, v[i][0], v[i][1]);
  }
}

}  // namespace sweetspot::engine::cuda
