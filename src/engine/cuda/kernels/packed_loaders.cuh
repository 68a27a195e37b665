#pragma once
#include "engine/cuda/kernels/async_copy.cuh"
#include "engine/cuda/kernels/loaders.cuh"
#include "engine/cuda/kernels/packed_epilogue.cuh"
#include "engine/cuda/kernels/packing.h"
#include "engine/cuda/kernels/wgmma.cuh"

// How the operands of a packed product are copied into the stages of shared memory: which term, row
// and depth each thread copies, for each of the three pairs of operands.
namespace sweetspot::engine::cuda {

constexpr int stage_depth = 64;  // 16-bit operands of a row in a stage

using Packed = std::uint16_t;  // of either 16-bit type

// What a pass along the depth multiplies: `planes` terms of each operand are in a stage together,
// `depth` of each, and these pairs of them are multiplied, the smallest first.
struct Pair {
  int left, right;
};
struct OneTerm {
  static constexpr int planes = 1, depth = 64, pairs = 1;
  __device__ static constexpr Pair pair(int) { return {0, 0}; }
};
struct TwoTerms {
  static constexpr int planes = 2, depth = 32, pairs = 3;
  __device__ static constexpr Pair pair(int i) { return {i == 1, i == 0}; }
};
// All pairs of three terms except the product of the largest, which a separate pass adds at the
// end: this loses the least precision.
struct SmallOfThreeTerms {
  static constexpr int planes = 3, depth = 16, pairs = 5;
  __device__ static constexpr Pair pair(int i) {
    return i == 0 ? Pair{1, 1} : i == 1 ? Pair{0, 2} : i == 2 ? Pair{2, 0} : Pair{i == 4, i == 3};
  }
};

// The location of this thread's sixteen bytes. Along the depth: the same eighth of a line, in some
// rows.
template <int rows, class Terms>
struct LinesAlong {
  static constexpr int step = packed_threads / 8, count = rows / step;
  static constexpr int eights = Terms::depth / 8;
  __device__ static int chunk() { return threadIdx.x % 8; }
  __device__ static bool used() { return chunk() < Terms::planes * eights; }
  __device__ static int plane() { return chunk() / eights; }
  __device__ static int depth() { return chunk() % eights * 8; }
  __device__ static int row(int i) { return threadIdx.x / 8 + step * i; }
  __device__ static std::uint32_t place(int i) { return swizzled(row(i), chunk()); }
};
// Across it: some groups of eight columns, in some lines.
template <int columns, class Terms>
struct LinesAcross {
  static constexpr int eights = columns / 8, all = Terms::planes * Terms::depth * eights;
  static constexpr int count = (all + packed_threads - 1) / packed_threads;
  __device__ static int at(int i) { return threadIdx.x + packed_threads * i; }
  __device__ static bool used(int i) { return all % packed_threads == 0 || at(i) < all; }
  __device__ static int line(int i) { return at(i) / eights; }
  __device__ static int plane(int i) { return line(i) / Terms::depth; }
  __device__ static int depth(int i) { return line(i) % Terms::depth; }
  __device__ static int column(int i) { return at(i) % eights * 8; }
  __device__ static std::uint32_t place(int i) {
    const int eight = at(i) % eights;
    return eight / 8 * panel_bytes + swizzled(line(i), eight % 8);
  }
};

// Forward, left: the patches of output positions. With pooling, four rows are a window.
template <class Terms>
struct PackedPatches {
  static constexpr bool across = false;
  using At = LinesAlong<packed_rows, Terms>;
  const GemmPart& p;
  const Packed* corner[At::count];
  int line[At::count], column[At::count];

  __device__ PackedPatches(const GemmPart& part, int m0) : p(part) {
    const ConvShape& s = p.shape;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int m = m0 + At::row(i);
      int sample, y, x;
      if (s.pool == 2) {
        const int window = m / 4, slot = m % 4;
        sample = p.by_windows.quotient(window);
        const int at = window - sample * p.by_windows.divisor;
        const int py = p.by_window_w.quotient(at), px = at - py * p.by_window_w.divisor;
        y = 2 * py + slot / 2, x = 2 * px + slot % 2;
      } else {
        sample = p.by_out.quotient(m);
        const int at = m - sample * p.by_out.divisor;
        y = p.by_out_w.quotient(at), x = at - y * s.out_w;
      }
      line[i] = sample < p.count ? y * s.stride_h - s.pad_top : outside;
      column[i] = x * s.stride_w - s.pad_left;
      corner[i] = p.packed_input + At::plane() * p.input_term +
                  static_cast<std::int64_t>(sample) * (s.in_h * s.in_w * s.channels) +
                  (line[i] * s.in_w + column[i]) * s.channels;
    }
  }
  __device__ void copy(int k0, int end, std::uint32_t to) const {
    if (!At::used()) return;
    const ConvShape& s = p.shape;
    const int k = k0 + At::depth(), tap = p.by_packed_channels.quotient(k);
    const int ky = p.by_kernel_w.quotient(tap), kx = tap - ky * s.kernel_w;
    const int offset = (ky * s.in_w + kx) * s.channels + k - tap * s.channels;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const bool inside = k < end && static_cast<unsigned>(line[i] + ky) < s.in_h &&
                          static_cast<unsigned>(column[i] + kx) < s.in_w;
      copy16(to + At::place(i), inside ? corner[i] + offset : p.packed_input, inside);
    }
  }
};

// Forward, right: the kernel in place, (tap, channel, filter).
template <int n, class Terms>
struct PackedKernelRows {
  static constexpr bool across = true;
  using At = LinesAcross<n, Terms>;
  const GemmPart& p;
  int n0;
  __device__ PackedKernelRows(const GemmPart& part, int first) : p(part), n0(first) {}
  __device__ void copy(int k0, int end, std::uint32_t to) const {
    const auto* from = static_cast<const Packed*>(p.operands);
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      if (!At::used(i)) continue;
      const int k = k0 + At::depth(i), f = n0 + At::column(i);
      const bool inside = k < end && f < p.shape.filters;
      const std::int64_t place =
          At::plane(i) * p.operand_term + static_cast<std::int64_t>(k) * p.shape.filters + f;
      copy16(to + At::place(i), from + (inside ? place : 0), inside);
    }
  }
};

// Gradient of the input, left: row m is an input position (of a phase), k = (tap, filter).
template <class Terms>
struct PackedGradientRows {
  static constexpr bool across = false;
  using At = LinesAlong<packed_rows, Terms>;
  const GemmPart& p;
  const Phase& phase;
  const Packed* sample[At::count];
  int line[At::count], column[At::count];

  __device__ PackedGradientRows(const GemmPart& part, const Phase& of, int m0)
      : p(part), phase(of) {
    const ConvShape& s = p.shape;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int m = m0 + At::row(i), n = p.by_in.quotient(m);
      const int at = m - n * p.by_in.divisor, y = p.by_in_w.quotient(at);
      line[i] = n < p.count ? y + phase.first_y : outside;
      column[i] = at - y * p.by_in_w.divisor + phase.first_x;
      sample[i] = p.packed_gradient + At::plane() * p.gradient_term +
                  static_cast<std::int64_t>(n) * (s.out_h * s.out_w * s.filters);
    }
  }
  __device__ void copy(int k0, int end, std::uint32_t to) const {
    if (!At::used()) return;
    const ConvShape& s = p.shape;
    const int k = k0 + At::depth(), tap = p.by_filters.quotient(k), f = k - tap * s.filters;
    const int ky = phase.line_of(p, tap), kx = tap - ky * phase.taps_x;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int y = line[i] - ky, x = column[i] - kx;
      const bool inside =
          k < end && static_cast<unsigned>(y) < s.out_h && static_cast<unsigned>(x) < s.out_w;
      copy16(to + At::place(i),
             inside ? sample[i] + f + (y * s.out_w + x) * s.filters : p.packed_gradient, inside);
    }
  }
};

// Gradient of the input, right: column n is a channel, k = (tap, filter).
template <int n, class Terms>
struct PackedKernelColumns {
  static constexpr bool across = false;
  using At = LinesAlong<n, Terms>;
  const GemmPart& p;
  const Phase& phase;
  int n0;
  __device__ PackedKernelColumns(const GemmPart& part, const Phase& of, int first)
      : p(part), phase(of), n0(first) {}
  __device__ void copy(int k0, int end, std::uint32_t to) const {
    if (!At::used()) return;
    const ConvShape& s = p.shape;
    const int k = k0 + At::depth(), place_of_tap = p.by_filters.quotient(k);
    const int f = k - place_of_tap * s.filters;
    int tap = place_of_tap;
    if (p.phases > 1) {
      const int ky = phase.line_of(p, tap), kx = tap - ky * phase.taps_x;
      tap = (phase.y + ky * s.stride_h) * s.kernel_w + phase.x + kx * s.stride_w;
    }
    const auto* from = static_cast<const Packed*>(p.operands);
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int c = n0 + At::row(i);
      const bool inside = k < end && c < s.channels;
      const std::int64_t place = At::plane() * p.operand_term +
                                 static_cast<std::int64_t>(tap * s.channels + c) * s.filters + f;
      copy16(to + At::place(i), from + (inside ? place : 0), inside);
    }
  }
};

// Gradient of the weights, left: row m = (tap, channel), k is an output position of some sample.
template <class Terms>
struct PackedPatchColumns {
  static constexpr bool across = true;
  using At = LinesAcross<packed_rows, Terms>;
  const GemmPart& p;
  int ky, kx, c;
  bool real;

  __device__ PackedPatchColumns(const GemmPart& part, int m0) : p(part) {
    // The same column in all of this thread's places.
    static_assert(packed_threads % At::eights == 0);
    const int m = m0 + At::column(0), tap = p.by_packed_channels.quotient(m);
    ky = p.by_kernel_w.quotient(tap), kx = tap - ky * p.shape.kernel_w;
    c = m - tap * p.shape.channels;
    real = m < p.shape.kernel_h * p.shape.kernel_w * p.shape.channels;
  }
  __device__ void copy(int k0, int end, std::uint32_t to) const {
    const ConvShape& s = p.shape;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int k = k0 + At::depth(i), sample = p.by_out.quotient(k);
      const int at = k - sample * p.by_out.divisor, line = p.by_out_w.quotient(at);
      const int y = line * s.stride_h - s.pad_top + ky;
      const int x = (at - line * s.out_w) * s.stride_w - s.pad_left + kx;
      const bool inside =
          real && k < end && static_cast<unsigned>(y) < s.in_h && static_cast<unsigned>(x) < s.in_w;
      const std::int64_t position = static_cast<std::int64_t>(sample * s.in_h + y) * s.in_w + x;
      copy16(to + At::place(i),
             inside ? p.packed_input + At::plane(i) * p.input_term + position * s.channels + c
                    : p.packed_input,
             inside);
    }
  }
};

// Weight gradient, right: the gradient in place.
template <int n, class Terms>
struct PackedGradientColumns {
  static constexpr bool across = true;
  using At = LinesAcross<n, Terms>;
  const GemmPart& p;
  int n0;
  __device__ PackedGradientColumns(const GemmPart& part, int first) : p(part), n0(first) {}
  __device__ void copy(int k0, int end, std::uint32_t to) const {
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      if (!At::used(i)) continue;
      const int k = k0 + At::depth(i), f = n0 + At::column(i);
      const bool inside = k < end && f < p.shape.filters;
      const std::int64_t place =
          At::plane(i) * p.gradient_term + static_cast<std::int64_t>(k) * p.shape.filters + f;
      copy16(to + At::place(i), p.packed_gradient + (inside ? place : 0), inside);
    }
  }
};

}  // namespace sweetspot::engine::cuda
