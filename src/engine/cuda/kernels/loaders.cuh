#pragma once
#include "engine/cuda/kernels/math.cuh"
#include "engine/cuda/kernels/params.h"
#include "engine/cuda/kernels/vectors.cuh"

// How the operands of the matrix products are loaded from the tensors: four floats at a time, each
// thread with one position along the contiguous axis and several across it. Channels are padded to
// multiples of four, so that four floats never cross a tap. `along`: contiguous in the depth k.
namespace sweetspot::engine::cuda {

constexpr int block_threads = 256;

// A dense layer is a convolution of one position: `dense` loaders skip the search for taps and
// lines, which costs more than the loads themselves.

template <int WarpsM, int WarpsN, int WarpsK, int Depth, int WarpRows = 32>
struct Tile {
  static constexpr int warps_m = WarpsM, warps_n = WarpsN, warps_k = WarpsK, warp_rows = WarpRows;
  static constexpr int m = WarpRows * WarpsM, n = 32 * WarpsN, k = Depth, slice = Depth / WarpsK;
  static constexpr int sixteens = WarpRows / 16;
  using Sums = SumsOf<sixteens>;
};
using SmallTile = Tile<1, 1, 8, 128>;
using MiddleTile = Tile<2, 2, 2, 64>;
using TallTile = Tile<8, 1, 1, 32>;
using WideTile = Tile<4, 2, 1, 32>;
using LargeTile = Tile<2, 4, 1, 32, 64>;

// The positions of one thread in a tile of `rows` × `contiguous` floats.
template <int rows, int contiguous>
struct Places {
  static constexpr int per_row = contiguous / 4, step = block_threads / per_row,
                       count = rows / step;
  __device__ static int column() { return threadIdx.x % per_row * 4; }
  __device__ static int row(int i) { return threadIdx.x / per_row + i * step; }
};

constexpr int outside = -30000;  // a row that no tap brings into the image

// Forward, left: row m is an output position, k = (tap, channel) of its patch. With pooling, rows
// come in groups of 32: the first positions of 8 windows, then their second, third and fourth.
template <class T, bool dense>
struct PatchRows {
  static constexpr bool along = true, looks_up = false;
  using At = Places<T::m, T::k>;
  const GemmPart& p;
  const float* corner[At::count];
  int line[At::count], column[At::count];

  __device__ PatchRows(const GemmPart& part, int m0) : p(part) {
    const ConvShape& s = p.shape;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int m = m0 + At::row(i);
      if constexpr (dense) {
        corner[i] = m < p.count ? p.input + static_cast<std::int64_t>(m) * s.channels : nullptr;
        continue;
      }
      int sample, y, x;
      if (s.pool == 2) {
        const int window = m / 32 * 8 + m % 8, slot = m % 32 / 8;
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
      corner[i] = p.input + static_cast<std::int64_t>(sample) * (s.in_h * s.in_w * s.channels) +
                  (line[i] * s.in_w + column[i]) * s.channels;
    }
  }

  __device__ void fetch(int k0, int end, float4 (&r)[At::count]) const {
    const ConvShape& s = p.shape;
    const int k = k0 + At::column();
    if constexpr (dense) {
#pragma unroll
      for (int i = 0; i < At::count; ++i)
        r[i] = k < end && corner[i] ? load4(corner[i] + k) : float4{};
      return;
    }
    const int tap = p.by_channels.quotient(k), ky = p.by_kernel_w.quotient(tap);
    const int kx = tap - ky * s.kernel_w, c = k - tap * s.channels;
    const int offset = (ky * s.in_w + kx) * s.channels + c;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const bool inside = k < end && static_cast<unsigned>(line[i] + ky) < s.in_h &&
                          static_cast<unsigned>(column[i] + kx) < s.in_w;
      r[i] = inside ? load4(corner[i] + offset) : float4{};
    }
  }
};

// Forward, right: the kernel in place, (k, filter).
template <class T>
struct KernelRows {
  static constexpr bool along = false, weights = true;
  using At = Places<T::k, T::n>;
  const GemmPart& p;
  int n;
  __device__ KernelRows(const GemmPart& part, int n0) : p(part), n(n0 + At::column()) {}

  __device__ void fetch(int k0, int end, float4 (&r)[At::count]) const {
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int k = k0 + At::row(i);
      r[i] = k < end && n < p.shape.filters
                 ? load4(p.weights + static_cast<std::int64_t>(k) * p.shape.filters + n)
                 : float4{};
    }
  }
};

// The gradient before pooling and ReLU, from the gradient after them and the codes. All loads are
// issued before any result is used; `at` is -1 if there is nothing.
template <int count>
__device__ void load_routed4(const GemmPart& p, const std::int64_t (&at)[count],
                             const int (&slot)[count], float4 (&r)[count]) {
  uchar4 code[count];
#pragma unroll
  for (int i = 0; i < count; ++i) r[i] = load4(p.gradient + (at[i] < 0 ? 0 : at[i]));
  if (p.code) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      code[i] = *reinterpret_cast<const uchar4*>(p.code + (at[i] < 0 ? 0 : at[i]));
#pragma unroll
    for (int i = 0; i < count; ++i)
      r[i] = {code[i].x == slot[i] ? r[i].x : 0.f, code[i].y == slot[i] ? r[i].y : 0.f,
              code[i].z == slot[i] ? r[i].z : 0.f, code[i].w == slot[i] ? r[i].w : 0.f};
  }
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (at[i] < 0) r[i] = float4{};
}

// An input position gets a gradient only from taps that are a multiple of the strides away: with
// strides, positions come in phases, and a block has those of one phase, with only its taps. The
// gradient of a phase is that of a convolution without strides.
struct Phase {
  int y, x;              // of the padded image's lines and columns, modulo the strides
  int first_y, first_x;  // the first line and column of this phase, in strides
  int taps_y, taps_x;
  bool fewer_x;  // than the first phase has

  __host__ __device__ Phase(const GemmPart& p, int phase) {
    const ConvShape& s = p.shape;
    y = phase == 0 ? 0 : phase / s.stride_w, x = phase - y * s.stride_w;
    first_y = s.pad_top, first_x = s.pad_left;
    taps_y = s.kernel_h, taps_x = s.kernel_w, fewer_x = false;
    if (p.phases == 1) return;
    first_y = max(0, (s.pad_top - y + s.stride_h - 1) / s.stride_h);
    first_x = max(0, (s.pad_left - x + s.stride_w - 1) / s.stride_w);
    taps_y = max(0, (s.kernel_h - y + s.stride_h - 1) / s.stride_h);
    taps_x = max(0, (s.kernel_w - x + s.stride_w - 1) / s.stride_w);
    fewer_x = taps_x < (s.kernel_w + s.stride_w - 1) / s.stride_w;
  }
  __device__ int depth(const GemmPart& p) const { return taps_y * taps_x * p.shape.filters; }
  // The row of taps that contains the phase's tap.
  __device__ int line_of(const GemmPart& p, int tap) const {
    return (fewer_x ? p.by_fewer_taps_x : p.by_taps_x).quotient(tap);
  }
};

// Gradient of the input, left: row m is an input position, k = (tap, filter).
template <class T, bool dense>
struct GradientRows {
  static constexpr bool along = true, looks_up = false;
  using At = Places<T::m, T::k>;
  const GemmPart& p;
  const Phase& phase;
  std::int64_t first[At::count];  // of the sample
  int line[At::count], column[At::count];

  __device__ GradientRows(const GemmPart& part, const Phase& of, int m0) : p(part), phase(of) {
    const ConvShape& s = p.shape;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      if constexpr (dense) {
        const int m = m0 + At::row(i);
        first[i] = m < p.count ? static_cast<std::int64_t>(m) * s.filters : -1;
        continue;
      }
      const int m = m0 + At::row(i), sample = p.by_in.quotient(m);
      const int at = m - sample * p.by_in.divisor, y = p.by_in_w.quotient(at);
      line[i] = sample < p.count ? y + phase.first_y : outside;
      column[i] = at - y * p.by_in_w.divisor + phase.first_x;
      first[i] = static_cast<std::int64_t>(sample) * p.by_windows.divisor * s.filters;
    }
  }

  __device__ void fetch(int k0, int end, float4 (&r)[At::count]) const {
    const ConvShape& s = p.shape;
    const int k = k0 + At::column();
    std::int64_t at[At::count];
    int slot[At::count] = {};
    if constexpr (dense) {
#pragma unroll
      for (int i = 0; i < At::count; ++i) at[i] = k < end && first[i] >= 0 ? first[i] + k : -1;
      return load_routed4(p, at, slot, r);
    }
    const int tap = p.by_filters.quotient(k), ky = phase.line_of(p, tap);
    const int kx = tap - ky * phase.taps_x, f = k - tap * s.filters;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      int y = line[i] - ky, x = column[i] - kx;
      const bool inside =
          k < end && static_cast<unsigned>(y) < s.out_h && static_cast<unsigned>(x) < s.out_w;
      slot[i] = s.pool == 2 ? y % 2 * 2 + x % 2 : 0;
      if (s.pool == 2) y /= 2, x /= 2;
      at[i] = inside ? first[i] + (y * static_cast<int>(p.by_window_w.divisor) + x) * s.filters + f
                     : -1;
    }
    load_routed4(p, at, slot, r);
  }
};

// Gradient of the input, right: column n is a channel, k = (tap, filter).
template <class T, bool dense>
struct KernelColumns {
  static constexpr bool along = true, weights = true;
  using At = Places<T::n, T::k>;
  const GemmPart& p;
  const Phase& phase;
  int n0;
  __device__ KernelColumns(const GemmPart& part, const Phase& of, int first)
      : p(part), phase(of), n0(first) {}

  __device__ void fetch(int k0, int end, float4 (&r)[At::count]) const {
    const ConvShape& s = p.shape;
    const int k = k0 + At::column();
    const int place = dense ? 0 : p.by_filters.quotient(k), f = k - place * s.filters;
    int tap = place;
    if (!dense && p.phases > 1) {
      const int ky = phase.line_of(p, place), kx = place - ky * phase.taps_x;
      tap = (phase.y + ky * s.stride_h) * s.kernel_w + phase.x + kx * s.stride_w;
    }
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      const int c = n0 + At::row(i);
      r[i] =
          k < end && c < s.channels
              ? load4(p.weights + static_cast<std::int64_t>(tap * s.channels + c) * s.filters + f)
              : float4{};
    }
  }
};

// Weight gradient: the location of each step k of the depth, an output position of some sample, in
// the input and in the gradient. Every thread needs all of them, so one warp looks them up, two
// stages ahead, and leaves them in shared memory.
template <class T>
struct PositionTable {
  struct alignas(16) Entry {
    int input;           // the position of the patch's corner, possibly outside
    int y, x;            // its line and column
    std::uint32_t from;  // the row after pooling, times four, plus the position in its window
  };
  static constexpr std::uint32_t none = 0xffffffffu;
  Entry (&entries)[2][T::k];
  const GemmPart& p;
  int begin, end;

  __device__ int half(int k0) const { return (k0 - begin) / T::k % 2; }
  __device__ void prepare(int k0) const {
    if (threadIdx.x >= T::k) return;
    const ConvShape& s = p.shape;
    const int k = k0 + threadIdx.x, sample = p.by_out.quotient(k);
    const int at = k - sample * p.by_out.divisor;
    int y = p.by_out_w.quotient(at), x = at - y * s.out_w;
    Entry e;
    e.y = y * s.stride_h - s.pad_top, e.x = x * s.stride_w - s.pad_left;
    e.input = (sample * s.in_h + e.y) * s.in_w + e.x;
    const int slot = s.pool == 2 ? y % 2 * 2 + x % 2 : 0;
    if (s.pool == 2) y /= 2, x /= 2;
    const std::uint32_t row =
        sample * p.by_windows.divisor + y * p.by_window_w.divisor + static_cast<std::uint32_t>(x);
    e.from = k < end ? row << 2 | static_cast<std::uint32_t>(slot) : none;
    entries[half(k0)][threadIdx.x] = e;
  }
  __device__ Entry of(int k0, int row) const {
    const int4 e = *reinterpret_cast<const int4*>(&entries[half(k0)][row]);
    return {e.x, e.y, e.z, static_cast<std::uint32_t>(e.w)};
  }
};

// Gradient of the weights, left: row m = (tap, channel), k is an output position of some sample.
template <class T, bool dense>
struct PatchColumns {
  static constexpr bool along = false, looks_up = !dense;
  using At = Places<T::k, T::m>;
  const GemmPart& p;
  const PositionTable<T>& table;
  int ky, kx, c;
  bool real;

  __device__ PatchColumns(const GemmPart& part, const PositionTable<T>& positions, int m0)
      : p(part), table(positions) {
    const int m = m0 + At::column(), tap = dense ? 0 : p.by_channels.quotient(m);
    ky = p.by_kernel_w.quotient(tap), kx = tap - ky * p.shape.kernel_w;
    c = m - tap * p.shape.channels;
    real = m < p.shape.kernel_h * p.shape.kernel_w * p.shape.channels;
  }
  __device__ void prepare(int k0) const { table.prepare(k0); }

  __device__ void fetch(int k0, int end, float4 (&r)[At::count]) const {
    const ConvShape& s = p.shape;
    const int tap = ky * s.in_w + kx;
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      if constexpr (dense) {
        const int k = k0 + At::row(i);
        r[i] = real && k < end ? load4(p.input + static_cast<std::int64_t>(k) * s.channels + c)
                               : float4{};
        continue;
      }
      const auto e = table.of(k0, At::row(i));
      const bool inside = real && e.from != table.none &&
                          static_cast<unsigned>(e.y + ky) < s.in_h &&
                          static_cast<unsigned>(e.x + kx) < s.in_w;
      r[i] = inside ? load4(p.input + static_cast<std::int64_t>(e.input + tap) * s.channels + c)
                    : float4{};
    }
  }
};

// Weight gradient, right: the routed gradient in place. Its column sums are the bias gradient.
template <class T, bool dense>
struct GradientColumns {
  static constexpr bool along = false, weights = false;
  using At = Places<T::k, T::n>;
  const GemmPart& p;
  const PositionTable<T>& table;
  int n;
  float4 total{};
  __device__ GradientColumns(const GemmPart& part, const PositionTable<T>& positions, int n0)
      : p(part), table(positions), n(n0 + At::column()) {}

  __device__ void fetch(int k0, int end, float4 (&r)[At::count]) {
    const ConvShape& s = p.shape;
    std::int64_t from[At::count];
    int slot[At::count] = {};
#pragma unroll
    for (int i = 0; i < At::count; ++i) {
      int row = k0 + At::row(i);
      if constexpr (dense) {
        if (row >= end) row = -1;
      } else {
        const auto e = table.of(k0, At::row(i));
        row = e.from == table.none ? -1 : static_cast<int>(e.from >> 2);
        slot[i] = static_cast<int>(e.from & 3);
      }
      from[i] = row >= 0 && n < s.filters ? static_cast<std::int64_t>(row) * s.filters + n : -1;
    }
    load_routed4(p, from, slot, r);
#pragma unroll
    for (int i = 0; i < At::count; ++i)
      total.x += r[i].x, total.y += r[i].y, total.z += r[i].z, total.w += r[i].w;
  }
};

}  // namespace sweetspot::engine::cuda
