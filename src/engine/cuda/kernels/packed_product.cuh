#pragma once
#include "engine/cuda/kernels/gemm.cuh"
#include "engine/cuda/kernels/packing.h"
#include "engine/cuda/kernels/wgmma.cuh"

// The products of large convolutions and dense layers on Hopper: operands are packed in memory, 16
// bits each, copied unchanged into shared memory, three or four stages ahead, and multiplied from
// there by warpgroups, each with 64 rows of a tile. Epilogues and divisions are those of gemm.cuh.
//
// Precisions beyond 16 bits are sums of bf16 terms (pack.cu): an operand of two terms has 16 bits
// of mantissa (for tf32, which requires 11), one of three has the 24 of fp32. Their product is that
// of pairs of terms; the omitted pairs are smaller than the last bit.
namespace sweetspot::engine::cuda {

constexpr int packed_threads = 256;
constexpr int stage_depth = 64;  // 16-bit operands of a row in a stage

// Sixteen bytes from memory to shared memory, or zeros.
__device__ inline void copy16(std::uint32_t to, const void* from, bool real) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(real ? 16 : 0)
               : "memory");
}
__device__ inline void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left>
__device__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

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

constexpr int left_bytes = packed_rows * stage_depth * 2;
template <int n>
constexpr int stage_bytes = left_bytes + (n + 63) / 64 * panel_bytes;
// As many as fit for two blocks per multiprocessor.
template <int n>
constexpr int packed_stages = n > 64 ? 3 : 4;
template <int n>
constexpr int packed_shared_bytes = packed_stages<n>* stage_bytes<n>;

// Stages are filled while earlier ones are multiplied. A block waits for its own products before it
// starts the next: a second block on the multiprocessor keeps the tensor cores busy.
template <bool bf16, int n, class Terms, class A, class B>
__device__ void multiply_packed(const A& a, const B& b, int begin, int end, std::uint32_t shared,
                                float (&sums)[n / 2]) {
  constexpr int stages = packed_stages<n>;
  const int steps = max(0, (end - begin + Terms::depth - 1) / Terms::depth);
  int next = 0;
  const auto fill = [&] {
    if (next < steps) {
      const std::uint32_t to = shared + next % stages * stage_bytes<n>;
      const int k = begin + next * Terms::depth;
      a.copy(k, end, to);
      b.copy(k, end, to + left_bytes);
    }
    ++next;
    copies_commit();
  };
  for (int i = 0; i < stages - 1; ++i) fill();
  const std::uint32_t rows_of_group = threadIdx.x / 128 * panel_bytes;
  // From one element of the depth to the next.
  constexpr int a_step = A::across ? 128 : 2, b_step = B::across ? 128 : 2;
  for (int i = 0; i < steps; ++i) {
    copies_wait<stages - 2>();
    show_tensor_cores();
    wgmma_wait<0>();
    __syncthreads();  // this stage is loaded, and the next one to fill is free
    const std::uint32_t tile = shared + i % stages * stage_bytes<n>;
    wgmma_begin();
#pragma unroll
    for (int j = 0; j < Terms::pairs; ++j)
#pragma unroll
      for (int k = 0; k < Terms::depth; k += 16) {
        const Pair pair = Terms::pair(j);
        WarpgroupProduct<n>::template run<bf16, A::across, B::across>(
            sums,
            operand_descriptor(tile + rows_of_group + (pair.left * Terms::depth + k) * a_step),
            operand_descriptor(tile + left_bytes + (pair.right * Terms::depth + k) * b_step));
      }
    wgmma_commit();
    fill();
  }
  wgmma_wait<0>();
  copies_wait<0>();
  __syncthreads();
}

// Transposes sums through shared memory, so that they are stored as rows.
template <int n>
struct SumsTile {
  static constexpr int pitch = n + 8;
  static constexpr int bytes = packed_rows * pitch * 4;
  float* tile;
  __device__ SumsTile(float* shared, const float (&sums)[n / 2]) : tile(shared) {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < n / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        store2(tile + (16 * warp + g + 8 * half) * pitch + 8 * j + 2 * t, sums[4 * j + 2 * half],
               sums[4 * j + 2 * half + 1]);
    __syncthreads();
  }
  __device__ float2 at(int row, int column) const {
    return *reinterpret_cast<const float2*>(tile + row * pitch + column);
  }
  // Calls use(row, column) for this thread's pairs of columns, in every `step`th row.
  template <int step, class Use>
  __device__ void each(Use use) const {
    for (int i = threadIdx.x; i < packed_rows / step * (n / 2); i += packed_threads)
      use(i / (n / 2) * step, i % (n / 2) * 2);
  }
};

template <bool bf16, GemmKind kind, int n, class Terms>
__device__ void run_packed(const GemmPart& p, const Phase& phase, int m0, int n0, int begin,
                           int end, std::uint32_t shared, float (&sums)[n / 2]) {
  const auto multiply = [&](const auto& a, const auto& b) {
    multiply_packed<bf16, n, Terms>(a, b, begin, end, shared, sums);
  };
  if constexpr (kind == GemmKind::forward)
    multiply(PackedPatches<Terms>(p, m0), PackedKernelRows<n, Terms>(p, n0));
  else if constexpr (kind == GemmKind::data)
    multiply(PackedGradientRows<Terms>(p, phase, m0), PackedKernelColumns<n, Terms>(p, phase, n0));
  else
    multiply(PackedPatchColumns<Terms>(p, m0), PackedGradientColumns<n, Terms>(p, n0));
}

template <class M, GemmKind kind, int n, int terms>
__global__ void __launch_bounds__(packed_threads, 2)
    packed_kernel(const __grid_constant__ GemmPart p) {
  static_assert(SumsTile<n>::bytes <= packed_shared_bytes<n>);
  extern __shared__ __align__(1024) unsigned char lines[];
  constexpr bool bf16 = M::is_bf16();
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(lines));
  float sums[n / 2] = {};
  const int rest = p.by_tiles_n.quotient(blockIdx.x), tile_n = blockIdx.x - rest * p.tiles_n;
  int split = p.by_tiles_m.quotient(rest);
  const int tile_m = rest - split * p.tiles_m, m0 = tile_m * packed_rows, n0 = tile_n * n;
  int which = 0;
  if (kind == GemmKind::data && p.phases > 1) which = split / p.splits, split -= which * p.splits;
  const ConvShape& s = p.shape;
  const Phase phase(p, which);
  const int depth = kind == GemmKind::forward ? s.kernel_h * s.kernel_w * s.channels
                    : kind == GemmKind::data  ? phase.depth(p)
                                              : p.count * static_cast<int>(p.by_out.divisor);
  const int begin = min(split * p.split_depth, depth);
  const int end = p.splits > 1 ? min(begin + p.split_depth, depth) : depth;
  wait_for_predecessor();
  const auto run = [&](auto which_terms) {
    run_packed<bf16, kind, n, decltype(which_terms)>(p, phase, m0, n0, begin, end, shared, sums);
  };
  if constexpr (terms == 2) run(TwoTerms{});
  if constexpr (terms == 3) run(SmallOfThreeTerms{});
  if constexpr (terms != 2) run(OneTerm{});
  const int tile = (which * p.tiles_m + tile_m) * p.tiles_n + tile_n;
  if (kind != GemmKind::weights && p.splits > 1 &&
      !gather_splits<n / 8, packed_threads>(p, tile, split,
                                            reinterpret_cast<float4(&)[n / 8]>(sums)))
    return;
  const SumsTile<n> finished(reinterpret_cast<float*>(lines), sums);
  if constexpr (kind == GemmKind::forward) {
    if (s.pool == 2) {
      finished.template each<4>([&](int row, int column) {
        const int window = (m0 + row) / 4, sample = p.by_windows.quotient(window);
        if (sample >= p.count || n0 + column >= s.filters) return;
        Finished v;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 pair = finished.at(row + i, column);
          v[i][0] = pair.x, v[i][1] = pair.y;
        }
        finish_pooled<true>(p, sample, window - sample * p.by_windows.divisor, n0 + column, v);
      });
    } else {
      finished.template each<1>([&](int row, int column) {
        const int m = m0 + row, sample = p.by_windows.quotient(m);
        if (sample >= p.count || n0 + column >= s.filters) return;
        const float2 pair = finished.at(row, column);
        float v[2] = {pair.x, pair.y};
        finish_plain<true>(p, sample, m - sample * p.by_windows.divisor, n0 + column, v);
      });
    }
  } else if constexpr (kind == GemmKind::data) {
    finished.template each<1>([&](int row, int column) {
      const int m = m0 + row, sample = p.by_in.quotient(m), at = m - sample * p.by_in.divisor;
      const int channels = static_cast<int>(p.by_channels.divisor);
      if (sample >= p.count || n0 + column >= channels) return;
      std::int64_t to = m;
      if (p.phases > 1) {
        const int line = p.by_in_w.quotient(at);
        const int y = phase.y + (line + phase.first_y) * s.stride_h - s.pad_top;
        const int x =
            phase.x + (at - line * p.by_in_w.divisor + phase.first_x) * s.stride_w - s.pad_left;
        if (y >= s.in_h || x >= s.in_w) return;
        to = (static_cast<std::int64_t>(sample) * s.in_h + y) * s.in_w + x;
      }
      const float2 v = finished.at(row, column);
      store2_through<true>(p, p.input_gradient, to * channels + n0 + column, v.x * p.scale,
                           v.y * p.scale);
    });
  } else {
    finished.template each<1>([&](int row, int column) {
      if (m0 + row >= s.kernel_h * s.kernel_w * s.channels || n0 + column >= s.filters) return;
      const float2 v = finished.at(row, column);
      if (M::overflows && !isfinite(v.x + v.y)) p.state->bad = 1;
      const int tap = p.by_packed_channels.quotient(m0 + row), c = m0 + row - tap * s.channels;
      const int channels = static_cast<int>(p.by_channels.divisor);
      if (c >= channels) return;
      store2(p.partials + split * p.partial_stride +
                 static_cast<std::int64_t>(tap * channels + c) * s.filters + n0 + column,
             v.x, v.y);
    });
  }
}

template <class M, GemmKind kind, int n, int terms>
cudaError_t launch_packed_as(const GemmPart& p, cudaStream_t stream) {
  constexpr auto kernel = packed_kernel<M, kind, n, terms>;
  constexpr int bytes = packed_shared_bytes<n>;
  static const cudaError_t allowed = allow_shared_memory(kernel, bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(kernel, p.phases * p.tiles_m * p.tiles_n * p.splits, packed_threads, bytes, stream,
                p);
}
template <class M, GemmKind kind, int terms>
cudaError_t launch_packed_kind(const GemmPart& p, int columns, cudaStream_t stream) {
  switch (columns) {
    case 32:
      return launch_packed_as<M, kind, 32, terms>(p, stream);
    case 64:
      return launch_packed_as<M, kind, 64, terms>(p, stream);
    case 96:
      return launch_packed_as<M, kind, 96, terms>(p, stream);
    case 128:
      return launch_packed_as<M, kind, 128, terms>(p, stream);
  }
  return cudaErrorInvalidValue;
}
template <class M, int terms>
cudaError_t launch_packed_with(const GemmPart& p, int columns, cudaStream_t stream) {
  switch (p.kind) {
    case GemmKind::forward:
      return launch_packed_kind<M, GemmKind::forward, terms>(p, columns, stream);
    case GemmKind::data:
      return launch_packed_kind<M, GemmKind::data, terms>(p, columns, stream);
    case GemmKind::weights:
      return launch_packed_kind<M, GemmKind::weights, terms>(p, columns, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace sweetspot::engine::cuda
