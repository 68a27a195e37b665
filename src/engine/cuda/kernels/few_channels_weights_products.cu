#include <algorithm>

#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/few_channels.h"
#include "engine/cuda/kernels/lanes.cuh"
#include "engine/cuda/kernels/math.cuh"

// The weight gradient of a convolution over few channels on the tensor cores, which multiply pixels
// (a row is a tap and a channel) by gradients over the positions. Both go from memory to the
// operands' registers: a thread that reads a whole pixel has a row of several tiles, one that reads
// four filters a column of four. A warp has some taps and 32 filters; those of a block that have
// the same divide its positions. As in few_channels_products.cu, fp32 is two terms of tf32.
namespace sweetspot::engine::cuda {
namespace {

constexpr int gradient_threads = 256, gradient_warps = gradient_threads / 32;
constexpr int tile_filters = 32, chunk = 8;  // positions of one step of the depth

// Tiles of sixteen rows that a warp has. One channel: sixteen taps each; else eight taps of two
// channels.
__host__ __device__ constexpr int row_tiles(int channels) { return channels <= 2 ? 2 : 4; }
__host__ __device__ constexpr int warp_taps(int channels) { return channels == 1 ? 32 : 16; }
int tap_parts(const ConvShape& shape, int channels) {
  return (shape.taps() + warp_taps(channels) - 1) / warp_taps(channels);
}

__device__ void split_terms(float x, float& first, float& rest) {
  first = Tf32::round(x), rest = Tf32::round(x - first);
}

__device__ void fetch_ahead(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

template <int channels, bool fp32>
__global__ void __launch_bounds__(gradient_threads, 2)
    few_channels_weights_products_kernel(const __grid_constant__ FewChannelsWeights p) {
  extern __shared__ __align__(16) float4 shared[];
  constexpr int tiles = row_tiles(channels), taps_each = warp_taps(channels);
  constexpr int reads = taps_each / 8;  // pixels that a thread reads for each position
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int part = warp % p.tap_parts, group = warp / p.tap_parts;
  const int first_tap = part * taps_each, first_filter = blockIdx.x * tile_filters;
  const int split = blockIdx.y, filter = first_filter + 4 * g;
  const bool real_filter = filter < s.filters;
  int ky[reads], kx[reads];
#pragma unroll
  for (int i = 0; i < reads; ++i) {
    const int tap = first_tap + 8 * i + g;
    ky[i] = tap / s.kernel_w, kx[i] = tap - ky[i] * s.kernel_w;
    if (tap >= taps) ky[i] = -30000;  // outside of the image
  }
  float sums[tiles][4][4] = {};
  float4 bias{};
  const int begin = split * p.share, end = min(begin + p.share, p.positions);
  wait_for_predecessor();
  // Most pixels are in a cache, so what a warp waits for are a few lines from memory at a time:
  // they are fetched some steps ahead, the gradients by one of the warps that share them.
  constexpr int steps_ahead = 4;
  const auto fetch = [&](int first) {
    if (part == 0 && real_filter)
      for (int half = 0; half < 2; ++half)
        fetch_ahead(p.gradient + std::int64_t{min(first + 4 * half + t, end - 1)} * s.filters +
                    filter);
    if (part + 1 < p.tap_parts) return;
    const int m = min(first + lane % 8, end - 1);
    const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
    const int oy = p.by_out_w.quotient(at), ox = at - oy * s.out_w;
    const int y = oy * s.stride_h - s.pad_top + s.kernel_h - 1 - lane / 8;  // the last lines
    const int x = min(max(ox * s.stride_w - s.pad_left, 0), s.in_w - 1);
    if (static_cast<unsigned>(y) < s.in_h)
      fetch_ahead(p.input + 4 * ((std::int64_t{sample} * s.in_h + y) * s.in_w + x));
  };
  if (group < p.groups)
#pragma unroll(fp32 ? 1 : 2)
    for (int first = begin + group * chunk; first < end; first += p.groups * chunk) {
      fetch(first + steps_ahead * p.groups * chunk);
      float pixels[2][reads][channels];  // of positions t and t + 4
      float4 gradient[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int m = first + 4 * half + t;
        const bool counts = m < end;
        const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
        const int oy = p.by_out_w.quotient(at), ox = at - oy * s.out_w;
        const int y = oy * s.stride_h - s.pad_top, x = ox * s.stride_w - s.pad_left;
        const std::int64_t from = std::int64_t{m} * s.filters + filter;
        const bool read = counts && real_filter;
        gradient[half] = read ? load4(p.gradient + from) : float4{};
        if (p.code && read)
          gradient[half] =
              let_through(gradient[half], *reinterpret_cast<const uchar4*>(p.code + from));
        const float* corner = p.input + 4 * ((std::int64_t{sample} * s.in_h + y) * s.in_w + x);
#pragma unroll
        for (int i = 0; i < reads; ++i) {
          const bool inside = counts && static_cast<unsigned>(y + ky[i]) < s.in_h &&
                              static_cast<unsigned>(x + kx[i]) < s.in_w;
          const float* pixel = corner + 4 * (ky[i] * s.in_w + kx[i]);
          if constexpr (channels == 1) {
            pixels[half][i][0] = inside ? *pixel : 0.f;
          } else {
            const float4 four = inside ? load4(pixel) : float4{};
#pragma unroll
            for (int c = 0; c < channels; ++c) pixels[half][i][c] = of4(four, c);
          }
        }
        if (p.bias && part == 0) bias = bias + gradient[half];
      }
      float right[4][2], right_rest[4][2];
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          if constexpr (fp32)
            split_terms(of4(gradient[half], j), right[j][half], right_rest[j][half]);
          else
            right[j][half] = Tf32::round(of4(gradient[half], j));
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        float left[4], rest[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const int half = r / 2;  // of the positions; r % 2 of the rows
          const int read = channels == 1 ? 2 * tile + r % 2 : channels == 2 ? tile : tile / 2;
          const int c = channels == 1 ? 0 : channels == 2 ? r % 2 : tile % 2 * 2 + r % 2;
          const float x = c < channels ? pixels[half][read][c < channels ? c : 0] : 0.f;
          if constexpr (fp32)
            split_terms(x, left[r], rest[r]);
          else
            left[r] = Tf32::round(x);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if constexpr (fp32) {
            Tf32::step(rest, right[j], sums[tile][j]);
            Tf32::step(left, right_rest[j], sums[tile][j]);
          }
          Tf32::step(left, right[j], sums[tile][j]);
        }
      }
    }
  // Pairs of groups, in a fixed order.
  constexpr int slots = tiles * 4 + 1;
  for (int left = p.groups; left > 1;) {
    const int half = (left + 1) / 2, apart = (left - half) * p.tap_parts * 32;
    float4* to = shared + ((group - half) * p.tap_parts + part) * 32 + lane;
    const float4* from = shared + (group * p.tap_parts + part) * 32 + lane;
    if (group >= half && group < left) {
#pragma unroll
      for (int i = 0; i < slots - 1; ++i) {
        const auto& four = sums[i / 4][i % 4];
        to[i * apart] = {four[0], four[1], four[2], four[3]};
      }
      to[(slots - 1) * apart] = bias;
    }
    __syncthreads();
    if (group + half < left) {
#pragma unroll
      for (int i = 0; i < slots - 1; ++i) {
        auto& four = sums[i / 4][i % 4];
        const float4 other = from[i * apart];
        four[0] += other.x, four[1] += other.y, four[2] += other.z, four[3] += other.w;
      }
      bias = bias + from[(slots - 1) * apart];
    }
    __syncthreads();
    left = half;
  }
  if (group != 0) return;
  float* to = p.partials + split * p.partial_stride;
  bool good = true;
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int rows = e / 2, n = first_filter + 4 * (2 * t + e % 2);
      const int read = channels == 1 ? 2 * tile + rows : channels == 2 ? tile : tile / 2;
      const int c = channels == 1 ? 0 : channels == 2 ? rows : tile % 2 * 2 + rows;
      const int tap = first_tap + 8 * read + g;
      if (tap >= taps || n >= s.filters) continue;
      const float4 sum{sums[tile][0][e], sums[tile][1][e], sums[tile][2][e], sums[tile][3][e]};
      good = good && isfinite(sum.x + sum.y + sum.z + sum.w);
      float* row = to + std::int64_t{tap * 4 + c} * s.filters + n;
      store4(row, sum);
      // Of the channels up to four, which are padding.
      if constexpr (channels == 1)
        for (int other = 1; other < 4; ++other) store4(row + other * s.filters, float4{});
      if constexpr (channels == 2) store4(row + 2 * s.filters, float4{});
    }
  if (p.bias && part == 0) {
    bias = bias + shuffled(bias, 1);
    bias = bias + shuffled(bias, 2);
    if (t == 0 && real_filter) store4(to + std::int64_t{4} * taps * s.filters + filter, bias);
  }
  if (!good) p.state->bad = 1;  // read only in fp16
}

template <bool fp32>
auto kernel_of(int channels) {
  return channels == 1   ? few_channels_weights_products_kernel<1, fp32>
         : channels == 2 ? few_channels_weights_products_kernel<2, fp32>
         : channels == 3 ? few_channels_weights_products_kernel<3, fp32>
                         : few_channels_weights_products_kernel<4, fp32>;
}

}  // namespace

bool divide_weights_products(FewChannelsWeights& p, int multiprocessors) {
  constexpr int blocks_each = 2, chunks_each = 4;
  p.tap_parts = tap_parts(p.shape, p.channels);
  if (p.tap_parts > gradient_warps) return false;
  p.groups = gradient_warps / p.tap_parts;
  p.tiles = (p.shape.filters + tile_filters - 1) / tile_filters;
  p.splits = std::clamp(blocks_each * multiprocessors / p.tiles, 1,
                        std::max(1, p.positions / (p.groups * chunks_each * chunk)));
  p.share = (p.positions + p.splits - 1) / p.splits;
  return true;
}

double weights_products_clocks(const FewChannelsWeights& p, int multiprocessors) {
  // A warp's step of the depth: 160 and 175 on an H200, where the other estimates of such
  // gradients are low by as much.
  const double step = p.fp32 ? 100 : 95;
  constexpr double start = 6000;
  const double idle = static_cast<double>(gradient_warps) / (p.groups * p.tap_parts);
  return start + step * idle * p.positions / chunk * p.tap_parts * p.tiles / multiprocessors;
}

cudaError_t launch_weights_products(const FewChannelsWeights& p, cudaStream_t stream) {
  const auto kernel = p.fp32 ? kernel_of<true>(p.channels) : kernel_of<false>(p.channels);
  const int slots = row_tiles(p.channels) * 4 + 1;
  const int bytes = slots * (p.groups / 2) * p.tap_parts * 32 * static_cast<int>(sizeof(float4));
  return launch(kernel, dim3(p.tiles, p.splits), gradient_threads, bytes, stream, p);
}

}  // namespace sweetspot::engine::cuda
