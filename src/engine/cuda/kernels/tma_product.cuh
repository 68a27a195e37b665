#pragma once
#include "engine/cuda/kernels/packed_epilogue.cuh"
#include "engine/cuda/kernels/packed_launch.cuh"
#include "engine/cuda/kernels/tma.cuh"
#include "engine/cuda/kernels/tma_product.h"
#include "engine/cuda/kernels/wgmma.cuh"

// Products of packed operands in tiles of 128 rows and up to 256 columns. One thread fills the
// stages through the tensor memory accelerator, a stage with a piece of the depth of one tap; two
// warpgroups multiply them. Nobody computes addresses, and a wide tile reads its rows once for all
// its columns: packed_product.cuh was bound by both.
namespace sweetspot::engine::cuda {

constexpr int tma_threads = packed_threads + 32;  // and the warp that fills

template <GemmKind kind, int n, int terms, int stage_depth>
struct TmaTile {
  // Whether a line of shared memory is 64 rows of one step of the depth; else it is the stage's
  // depth of one row.
  static constexpr bool left_across = kind == GemmKind::weights;
  static constexpr bool right_across = kind != GemmKind::data;
  static constexpr int depth = stage_depth, line_bytes = 2 * depth;
  static constexpr int panels = (n + 63) / 64,
                       panel = 64 * line_bytes;  // 64 rows, in either layout
  static constexpr int left_bytes = packed_rows * line_bytes, right_bytes = panels * panel;
  static constexpr int stage_bytes = terms * (left_bytes + right_bytes);
  static constexpr int copied_bytes =
      terms * (left_bytes + (right_across ? right_bytes : n * line_bytes));
  static constexpr int blocks = tma_blocks(n, terms, depth);
  static constexpr int stages = (blocks == 2 ? 100 : 200) * 1024 / stage_bytes;
  static constexpr int bytes = stages * stage_bytes;
  static_assert(stages >= 2 && packed_sums_bytes<n> <= bytes);
};

// Where in the depth a stage is: a tap, and a piece of its channels or filters.
struct StagePlace {
  int tap, piece, ky, kx;
  __device__ StagePlace(int stage, int pieces, int taps_x) {
    tap = stage / pieces, piece = stage - tap * pieces;
    ky = tap / taps_x, kx = tap - ky * taps_x;
  }
  __device__ void next(int pieces, int taps_x) {
    if (++piece < pieces) return;
    piece = 0, ++tap;
    if (++kx == taps_x) kx = 0, ++ky;
  }
};

// A position of an image or of a phase, for row m.
struct Position {
  int sample, y, x;
  __device__ Position(int m, const Divider& by_all, const Divider& by_width) {
    sample = by_all.quotient(m);
    const int at = m - sample * static_cast<int>(by_all.divisor);
    y = by_width.quotient(at), x = at - y * static_cast<int>(by_width.divisor);
  }
};

// Starts the copies of a tile's stages, in one thread.
template <GemmKind kind, int n, int terms, int stage_depth>
struct TmaSource {
  using Tile = TmaTile<kind, n, terms, stage_depth>;
  const TmaProduct& product;
  const Phase& phase;
  int which, m0, n0;

  template <class Next>
  __device__ void fill(int begin, int end, const Next& next_stage) const {
    const GemmPart& p = product.part;
    const ConvShape& s = p.shape;
    if constexpr (kind == GemmKind::weights) {
      const int pieces = panels_of_tap(s.channels), all = s.kernel_h * s.kernel_w * pieces;
      const int first = m0 / tma_panel;
      const StagePlace upper(min(first, all - 1), pieces, s.kernel_w);
      const StagePlace lower(min(first + 1, all - 1), pieces, s.kernel_w);
      for (int i = begin; i < end; ++i) {
        const int k = i * Tile::depth;
        const Position at(k, p.by_out, p.by_out_w);
        next_stage([&](std::uint32_t to, std::uint32_t barrier) {
#pragma unroll
          for (int t = 0; t < terms; ++t) {
            const std::uint32_t left = to + t * Tile::left_bytes;
            patches(left, t, barrier, upper.piece * tma_panel, k, at, upper.kx, upper.ky);
            patches(left + Tile::panel, t, barrier, lower.piece * tma_panel, k, at, lower.kx,
                    lower.ky);
            columns(to, t, barrier, k);
          }
        });
      }
    } else {
      const bool forward = kind == GemmKind::forward;
      const int pieces = stages_of(forward ? s.channels : s.filters, stage_depth);
      const int taps_x = forward ? s.kernel_w : phase.taps_x;
      StagePlace place(begin, pieces, taps_x < 1 ? 1 : taps_x);
      const Position at(m0, forward ? p.by_out : p.by_in, forward ? p.by_out_w : p.by_in_w);
      for (int i = begin; i < end; ++i) {
        next_stage([&](std::uint32_t to, std::uint32_t barrier) {
#pragma unroll
          for (int t = 0; t < terms; ++t) {
            const std::uint32_t left = to + t * Tile::left_bytes;
            if constexpr (forward) {
              const int c = place.piece * Tile::depth;
              patches(left, t, barrier, c, m0, at, place.kx, place.ky);
              columns(to, t, barrier, place.tap * s.channels + c);
            } else {
              gradient_rows(left, t, barrier, place, at);
              kernel_columns(to, t, barrier, place);
            }
          }
        });
        place.next(pieces, taps_x);
      }
    }
  }

 private:
  // Channels from c on of positions of the input under a tap, from row m of the flat matrix or from
  // `at` on.
  __device__ void patches(std::uint32_t to, int t, std::uint32_t barrier, int c, int m,
                          const Position& at, int kx, int ky) const {
    const ConvShape& s = product.part.shape;
    if (product.flat)
      copy_box(to, product.left[t], barrier, c, m);
    else
      copy_patches(to, product.left[t], barrier, c, at.x * s.stride_w - s.pad_left,
                   at.y * s.stride_h - s.pad_top, at.sample, kx, ky);
  }
  // A stage's depth, from k on, of the columns.
  __device__ void columns(std::uint32_t to, int t, std::uint32_t barrier, int k) const {
#pragma unroll
    for (int j = 0; j < Tile::panels; ++j)
      copy_box(right(to, t) + j * Tile::panel, product.right[t], barrier, n0 + 64 * j, k);
  }
  // The gradient's positions are visited from the last tap to the first.
  __device__ void gradient_rows(std::uint32_t to, int t, std::uint32_t barrier,
                                const StagePlace& place, const Position& at) const {
    const CUtensorMap& map = product.left[which * most_tma_terms + t];
    if (product.flat)
      copy_box(to, map, barrier, place.piece * Tile::depth, m0);
    else
      copy_patches(to, map, barrier, place.piece * Tile::depth,
                   at.x + phase.first_x - (phase.taps_x - 1),
                   at.y + phase.first_y - (phase.taps_y - 1), at.sample,
                   phase.taps_x - 1 - place.kx, phase.taps_y - 1 - place.ky);
  }
  __device__ void kernel_columns(std::uint32_t to, int t, std::uint32_t barrier,
                                 const StagePlace& place) const {
    const ConvShape& s = product.part.shape;
    int tap = place.tap;
    if (product.part.phases > 1)
      tap = (phase.y + place.ky * s.stride_h) * s.kernel_w + phase.x + place.kx * s.stride_w;
    copy_box(right(to, t), product.right[t], barrier, place.piece * Tile::depth, n0, tap);
  }
  __device__ static std::uint32_t right(std::uint32_t to, int t) {
    return to + terms * Tile::left_bytes + t * Tile::right_bytes;
  }
};

// The products of one stage.
template <bool bf16, class Tile, int n, int terms>
__device__ void multiply_stage(std::uint32_t tile, float (&sums)[n / 2]) {
  constexpr int left_step = Tile::left_across ? 128 : 2, right_step = Tile::right_across ? 128 : 2;
  constexpr int left_line = Tile::left_across ? 128 : Tile::line_bytes;
  constexpr int right_line = Tile::right_across ? 128 : Tile::line_bytes;
  constexpr int pairs = terms == 1 ? 1 : 3;
  const std::uint32_t rows = tile + threadIdx.x / 128 * Tile::panel;
  const std::uint32_t columns = tile + terms * Tile::left_bytes;
  wgmma_begin();
#pragma unroll
  for (int j = 0; j < pairs; ++j)
#pragma unroll
    for (int k = 0; k < Tile::depth; k += 16) {
      const int left = j == 1, right = terms > 1 && j == 0;  // the smallest terms first
      WarpgroupProduct<n>::template run<bf16, Tile::left_across, Tile::right_across>(
          sums,
          operand_descriptor<left_line, Tile::panel>(rows + left * Tile::left_bytes +
                                                     k * left_step),
          operand_descriptor<right_line, Tile::panel>(columns + right * Tile::right_bytes +
                                                      k * right_step));
    }
  wgmma_commit();
}

template <class M, GemmKind kind, int n, int terms, int stage_depth>
__global__ void __launch_bounds__(tma_threads, tma_blocks(n, terms, stage_depth))
    tma_kernel(const __grid_constant__ TmaProduct product) {
  using Tile = TmaTile<kind, n, terms, stage_depth>;
  constexpr int stages = Tile::stages;
  extern __shared__ __align__(1024) unsigned char lines[];
  __shared__ std::uint64_t barriers[2 * stages];
  const GemmPart& p = product.part;
  const ConvShape& s = p.shape;
  const std::uint32_t shared = shared_address(lines);
  const auto full = [&](int slot) { return shared_address(barriers + slot); };
  const auto empty = [&](int slot) { return shared_address(barriers + stages + slot); };
  const PackedPlace place(p, kind == GemmKind::data);
  const int m0 = place.tile_m * packed_rows, n0 = place.tile_n * n;
  const Phase phase(p, place.which);
  const int of_tap = kind == GemmKind::forward ? s.channels : s.filters;
  const int pieces = stages_of(of_tap, stage_depth);
  const int depth = kind == GemmKind::forward ? s.kernel_h * s.kernel_w * pieces
                    : kind == GemmKind::data
                        ? phase.taps_y * phase.taps_x * pieces
                        : stages_of(p.count * static_cast<int>(p.by_out.divisor), stage_depth);
  const int begin = min(place.split * p.split_depth, depth);
  const int end = p.splits > 1 ? min(begin + p.split_depth, depth) : depth;
  constexpr int multiplying_warps = packed_threads / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i)
      barrier_start(full(i), 1), barrier_start(empty(i), multiplying_warps);
    barriers_started();
  }
  __syncthreads();
  wait_for_predecessor();

  if (threadIdx.x >= packed_threads) {
    if (threadIdx.x == packed_threads) {
      int i = 0;
      TmaSource<kind, n, terms, stage_depth>{product, phase, place.which, m0, n0}.fill(
          begin, end, [&](const auto& copy) {
            const int slot = i % stages, round = i / stages;
            if (round > 0) await(empty(slot), (round - 1) & 1);
            arrive_expecting(full(slot), Tile::copied_bytes);
            copy(shared + slot * Tile::stage_bytes, full(slot));
            ++i;
          });
    }
    return;  // a block's barriers do not wait for threads that have ended
  }

  // Zeros that the compiler cannot move between the products, which would then wait for each other.
  float sums[n / 2];
#pragma unroll
  for (float& sum : sums) asm volatile("mov.f32 %0, 0f00000000;" : "=f"(sum));
  const int steps = end - begin;
  for (int i = 0; i < steps; ++i) {
    const int slot = i % stages;
    await(full(slot), i / stages & 1);
    multiply_stage<M::is_bf16(), Tile, n, terms>(shared + slot * Tile::stage_bytes, sums);
    // The products before these have ended: what they read may be overwritten.
    wgmma_wait<1>();
    if (i > 0 && threadIdx.x % 32 == 0) arrive(empty((i - 1) % stages));
  }
  wgmma_wait<0>();
  __syncthreads();

  const int channel_panels = panels_of_tap(s.channels);
  finish_packed<M, kind, n>(p, phase, place, reinterpret_cast<float*>(lines), sums,
                            [&](int row, int& tap, int& c) {
                              const int panel = (m0 + row) / tma_panel;
                              tap = panel / channel_panels;
                              c = (panel - tap * channel_panels) * tma_panel + row % tma_panel;
                              return tap < s.kernel_h * s.kernel_w;
                            });
}

template <class M, GemmKind kind, int n, int terms, int stage_depth>
cudaError_t launch_tma_as(const GemmPart& p, cudaStream_t stream) {
  constexpr auto kernel = tma_kernel<M, kind, n, terms, stage_depth>;
  using Tile = TmaTile<kind, n, terms, stage_depth>;
  static const cudaError_t allowed = allow_shared_memory(kernel, Tile::bytes);
  if (allowed != cudaSuccess) return allowed;
  TmaProduct product{p};
  if (const cudaError_t error = map_operands(product, n, terms, !M::is_bf16());
      error != cudaSuccess)
    return error;
  return launch_tiles(kernel, p, tma_threads, Tile::bytes, stream, product);
}
template <class M, int terms>
cudaError_t launch_tma_with(const GemmPart& p, int columns, cudaStream_t stream) {
  return launch_kind(p.kind, [&](auto kind) {
    return launch_columns<64, 96, 128, 192, 256>(columns, [&](auto n) {
      constexpr GemmKind k = decltype(kind)::kind;
      constexpr int columns_of_tile = decltype(n)::count;
      if constexpr (terms > 1)
        if (p.stage_depth == tma_short)
          return launch_tma_as<M, k, columns_of_tile, terms, tma_short>(p, stream);
      if constexpr (terms == 1 || columns_of_tile <= 128)
        return launch_tma_as<M, k, columns_of_tile, terms, tma_long>(p, stream);
      return cudaErrorInvalidValue;
    });
  });
}

}  // namespace sweetspot::engine::cuda
