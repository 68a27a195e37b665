#pragma once
#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/math.cuh"

// What the kernels for a first convolution share.
namespace sweetspot::engine::cuda {

// Lines of the sample in row `row` of the source; a warp takes a line at a time, with four loads in
// flight. The warps from `first_warp` on share the work.
template <int C, bool rounded = false>
__device__ void load_strip(const FirstConv& p, std::uint32_t row, int first_line, int lines,
                           float* to, int first_warp = 0) {
  constexpr int at_once = 4;
  const int line = p.shape.in_w * C, full = p.full_w * C;
  const int warps = blockDim.x / 32 - first_warp;
  const std::int64_t from = (std::int64_t{row} * p.full_h + first_line) * full;
  for (int first = threadIdx.x / 32 - first_warp; first < lines; first += at_once * warps)
    for (int x = threadIdx.x % 32; x < line; x += 32) {
      float v[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::int64_t at = from + (first + k * warps) * full + x;
        if (first + k * warps >= lines)
          v[k] = 0;
        else
          v[k] = p.source.bytes ? p.source.bytes[at] * (1.f / 255) : p.source.floats[at];
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        if (first + k * warps < lines)
          to[(first + k * warps) * line + x] = rounded ? Tf32::round(v[k]) : v[k];
    }
}

// The weights of 32 filters in a warp's registers, and its products with eight windows at a time,
// whose four positions are rows g, g+8, g+16 and g+24 of a tile.
template <int KH, int KW, int C>
struct TensorTaps {
  static constexpr int taps = KH * KW * C, steps = (taps + 7) / 8;
  int f0, offset[steps][2];
  float right[4][steps][2], bias[4][2];

  __device__ TensorTaps(const FirstConv& p, int first) : f0(first) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int k = 0; k < 2 * steps; ++k) {
      const int tap = 4 * k + t;
      offset[k / 2][k % 2] = tap < taps ? tap / (KW * C) * p.shape.in_w * C + tap % (KW * C) : 0;
#pragma unroll
      for (int j = 0; j < 4; ++j)
        right[j][k / 2][k % 2] =
            tap < taps ? Tf32::round(p.weights[tap * p.shape.filters + f0 + 8 * j + g]) : 0.f;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j)
      bias[j / 2][j % 2] = p.bias ? p.bias[f0 + 8 * (j / 2) + 2 * t + j % 2] : 0.f;
  }

  // `image` begins with the first window's corner; calls store(window, filter, value, code) for
  // pairs of filters.
  template <class Store>
  __device__ void run(const FirstConv& p, const float* image, int group, int windows,
                      Store store) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, pitch = p.shape.in_w * C;
    const int window = min(group * 8 + g, windows - 1);
    const int py = p.by_width.quotient(window), px = window - py * p.by_width.divisor;
    const float* corner = image + 2 * py * pitch + 2 * px * C;
    Sums sums{};
#pragma unroll
    for (int k = 0; k < steps; ++k)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float left[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) left[r] = corner[i * pitch + r % 2 * C + offset[k][r / 2]];
#pragma unroll
        for (int j = 0; j < 4; ++j) Tf32::step(left, right[j][k], sums[i][j]);
      }
    if (group * 8 + g >= windows) return;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float value[2];
      std::uint8_t code[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float best = sums[0][j][e];
        code[e] = 0;
#pragma unroll
        for (int slot = 1; slot < 4; ++slot) {
          const float v = sums[slot / 2][j][slot % 2 * 2 + e];
          if (beats(v, best)) best = v, code[e] = slot;
        }
        best += bias[j][e];
        if (p.relu) best = rectified(best), code[e] = best == 0 ? no_gradient : code[e];
        value[e] = best;
      }
      store(window, f0 + 8 * j + 2 * t, float2{value[0], value[1]}, uchar2{code[0], code[1]});
    }
  }
};

// The number of filters is a power of two.
__device__ inline int filter_bits(const FirstConv& p) { return 31 - __clz(p.shape.filters); }

// A thread has one filter and every n-th window, and keeps the sums of all of its filter's taps:
// only a window's winner has a gradient, a quarter of the positions.
template <int KH, int KW, int C>
struct FilterSums {
  static constexpr int taps = KH * KW * C;
  float sums[taps] = {}, bias = 0;

  // gradient(window) and code(window) are those of this thread's filter; `image` begins with the
  // first window's corner.
  template <class Gradient, class Code>
  __device__ void add(const FirstConv& p, const float* image, int first, int apart, int windows,
                      Gradient gradient, Code code) {
    const int pitch = p.shape.in_w * C;
#pragma unroll 4
    for (int window = first; window < windows; window += apart) {
      float g = gradient(window);
      const int winner = code(window), slot = winner & 3;
      g = winner == no_gradient ? 0.f : g;
      bias += g;
      const int py = p.by_width.quotient(window), px = window - py * p.by_width.divisor;
      const float* corner = image + (2 * py + slot / 2) * pitch + (2 * px + slot % 2) * C;
#pragma unroll
      for (int ky = 0; ky < KH; ++ky)
#pragma unroll
        for (int kx = 0; kx < KW * C; ++kx) sums[ky * KW * C + kx] += g * corner[ky * pitch + kx];
    }
  }

  // Stores the block's sums as partial gradient number `split`; `shared` has space for all threads'
  // sums.
  template <int threads>
  __device__ void write(const FirstConv& p, int split, float* shared) const {
#pragma unroll
    for (int tap = 0; tap < taps; ++tap) shared[tap * threads + threadIdx.x] = sums[tap];
    shared[taps * threads + threadIdx.x] = bias;
    __syncthreads();
    const int filters = p.shape.filters, bits = filter_bits(p), apart = threads >> bits;
    float* to = p.partials + split * p.partial_stride;
    for (int i = threadIdx.x; i < (taps + (p.bias != nullptr)) * filters; i += threads) {
      const int tap = i >> bits, filter = i & (filters - 1);
      float sum = 0;
#pragma unroll 8
      for (int part = 0; part < apart; ++part)
        sum += shared[tap * threads + part * filters + filter];
      to[i] = sum;
    }
  }
};

}  // namespace sweetspot::engine::cuda
