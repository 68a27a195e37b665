#include <algorithm>

#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/few_outputs_epilogue.cuh"
#include "engine/cuda/kernels/patches.cuh"
#include "engine/cuda/kernels/split_floats.cuh"
#include "engine/cuda/kernels/tap_products.h"

// Tiles of a product with so few columns would consist of padding. Instead every position that is
// read is multiplied once, on the tensor cores, by the kernels of all taps; a patch of these
// products is in shared memory, where each output adds those of its taps, in order. In tf32, or in
// fp32 as two terms of tf32 (22 bits) and three products.
namespace sweetspot::engine::cuda {
namespace {

constexpr int output_threads = 256, output_warps = output_threads / 32;
constexpr int warp_positions = 32, sixteens = warp_positions / 16, thread_positions = 4;
constexpr int depth_chunk = 16;         // which a thread reads four adjacent floats of: two steps
constexpr int columns = 4;              // tiles of eight products that a warp has at a time
constexpr int most_shared = 96 * 1024;  // which every GPU has that the kernels are compiled for
constexpr int most_products = 64 * 1024, least_products = 24 * 1024;
constexpr int blocks_each = 2;  // of a multiprocessor

__host__ __device__ constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }
__host__ __device__ int tiles_of(const TapProducts& p) {
  return (p.shape.kernel_h * p.shape.kernel_w * p.outputs + 7) / 8;
}
// Floats of a position's products, so that adjacent positions are in different banks.
__host__ __device__ int pitch_of(const TapProducts& p) { return 8 * tiles_of(p) + 2; }

int kernel_bytes(const TapProducts& p) {
  return round_up(p.shape.channels, depth_chunk) * 8 * tiles_of(p) *
         static_cast<int>(sizeof(float)) * (p.fp32 ? 2 : 1);
}

// The first tap along an axis that meets a position of what was spread, and that position.
struct Meeting {
  int tap, position;
};
__device__ Meeting first_meeting(int virtual_position, int spread) {
  if (spread == 1) return {0, virtual_position};
  const int quotient = virtual_position >= 0 ? (virtual_position + spread - 1) / spread
                                             : -(-virtual_position / spread);
  return {quotient * spread - virtual_position, quotient};
}

template <bool fp32>
__global__ void __launch_bounds__(output_threads, 2)
    tap_products_kernel(const __grid_constant__ TapProducts p) {
  using Fragment = std::conditional_t<fp32, float4, float2>;  // of the kernel, with its rest
  extern __shared__ __align__(16) unsigned char shared[];
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, depth = s.channels;
  const int tiles = tiles_of(p), pitch = pitch_of(p),
            chunks = (depth + depth_chunk - 1) / depth_chunk;
  auto* kernel = reinterpret_cast<Fragment*>(shared);
  auto* products = reinterpret_cast<float*>(kernel + 2 * chunks * tiles * 32);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

  const auto weight = [&](int channel, int column) {
    const int tap = column / p.outputs, o = column - tap * p.outputs;
    if (channel >= depth || tap >= taps) return 0.f;
    return p.weights[p.gradient ? ((taps - 1 - tap) * s.filters + o) * depth + channel
                                : (tap * depth + channel) * s.filters + o];
  };
#pragma unroll 2
  for (int i = warp; i < 2 * chunks * tiles; i += output_warps) {
    const int step = i / tiles, column = (i - step * tiles) * 8 + g;
    const int channel = step / 2 * depth_chunk + 4 * t + step % 2 * 2;
    const float low = weight(channel, column), high = weight(channel + 1, column);
    const float a = Tf32::round(low), b = Tf32::round(high);
    if constexpr (fp32)
      kernel[i * 32 + lane] = {a, b, Tf32::round(low - a), Tf32::round(high - b)};
    else
      kernel[i * 32 + lane] = {a, b};
  }
  wait_for_predecessor();

  const Patches& patches = p.patches;
  const int pixels = patches.pixels_h * patches.pixels_w;
  const int parts = (tiles + columns - 1) / columns;
  const int units = (pixels + warp_positions - 1) / warp_positions * parts;
  for (int which = blockIdx.x; which < p.count * patches.each; which += gridDim.x) {
    const Patch patch = patch_of(patches, s, which);
    const int top = first_meeting(patch.y * s.stride_h - s.pad_top, p.spread.height).position;
    const int left = first_meeting(patch.x * s.stride_w - s.pad_left, p.spread.width).position;
    __syncthreads();
    for (int unit = warp; unit < units; unit += output_warps) {
      const int tile = unit / parts, first_column = (unit - tile * parts) * columns;
      std::int64_t from[thread_positions];
      bool inside[thread_positions];
#pragma unroll
      for (int i = 0; i < thread_positions; ++i) {
        const int at = tile * warp_positions + 8 * i + g, line = patches.by_pixels_w.quotient(at);
        const int y = top + line, x = left + at - line * patches.pixels_w;
        inside[i] =
            at < pixels && static_cast<unsigned>(y) < s.in_h && static_cast<unsigned>(x) < s.in_w;
        from[i] = ((std::int64_t{patch.sample} * s.in_h + y) * s.in_w + x) * depth + 4 * t;
      }
      float sums[sixteens][columns][4] = {};
#pragma unroll(fp32 ? 1 : 2)
      for (int chunk = 0; chunk < chunks; ++chunk) {
        float4 x[thread_positions];
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
          const bool real = inside[i] && chunk * depth_chunk + 4 * t < depth;
          const std::int64_t at = from[i] + chunk * depth_chunk;
          x[i] = real ? load4(p.input + at) : float4{};
          if (p.let_through && real)
            x[i] = let_through(x[i], *reinterpret_cast<const uchar4*>(p.let_through + at));
        }
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          float low[sixteens][4], rest[sixteens][4];
#pragma unroll
          for (int i = 0; i < sixteens; ++i)
#pragma unroll
            for (int r = 0; r < 4; ++r) {  // r % 2: of the positions, r / 2: of the depth
              const float v = of4(x[2 * i + r % 2], 2 * step + r / 2);
              if constexpr (fp32)
                split_terms(v, low[i][r], rest[i][r]);
              else
                low[i][r] = Tf32::round(v);
            }
          const Fragment* at = kernel + ((2 * chunk + step) * tiles + first_column) * 32 + lane;
#pragma unroll
          for (int j = 0; j < columns; ++j) {
            if (first_column + j >= tiles) break;
            const Fragment w = at[j * 32];
            const float right[2] = {w.x, w.y};
#pragma unroll
            for (int i = 0; i < sixteens; ++i) {
              if constexpr (fp32) {
                const float right_rest[2] = {w.z, w.w};
                Tf32::step(rest[i], right, sums[i][j]);
                Tf32::step(low[i], right_rest, sums[i][j]);
              }
              Tf32::step(low[i], right, sums[i][j]);
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < thread_positions; ++i) {
        const int at = tile * warp_positions + 8 * i + g;
#pragma unroll
        for (int j = 0; j < columns; ++j)
          if (at < pixels && first_column + j < tiles)
            *reinterpret_cast<float2*>(products + at * pitch + 8 * (first_column + j) + 2 * t) = {
                sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]};
      }
    }
    __syncthreads();
    const std::int64_t first = (std::int64_t{patch.sample} * s.out_h + patch.y) * s.out_w + patch.x;
    for (int i = threadIdx.x; i < patch.count; i += output_threads) {
      const int line = patches.by_width.quotient(i), column = i - line * patches.width;
      const Meeting y = first_meeting((patch.y + line) * s.stride_h - s.pad_top, p.spread.height);
      const Meeting x = first_meeting((patch.x + column) * s.stride_w - s.pad_left, p.spread.width);
      for (int o = 0; o < s.filters; o += 4) {
        float v[4] = {};
        for (int ky = y.tap, qy = y.position - top; ky < s.kernel_h; ky += p.spread.height, ++qy) {
          const float* at = products + (qy * patches.pixels_w + x.position - left) * pitch +
                            (ky * s.kernel_w + x.tap) * p.outputs + o;
#pragma unroll 4
          for (int kx = x.tap; kx < s.kernel_w; kx += p.spread.width) {
#pragma unroll
            for (int e = 0; e < 4; ++e)
              if (o + e < p.outputs) v[e] += at[e];
            at += pitch + p.spread.width * p.outputs;
          }
        }
        const std::int64_t to = (first + i) * s.filters + o;
        if (p.gradient)
          finish_gradient(p, to, o, v);
        else
          finish_value(p, to, o, v);
      }
    }
  }
}

}  // namespace

bool tap_products_pay(const ConvShape& s, int outputs, int count, bool gradient,
                      int multiprocessors) {
  // More products than a warp has at a time would be as many more patches; and with fewer positions
  // most of the chip is idle.
  constexpr std::int64_t many_positions = 128;  // per multiprocessor
  const int pitch = gradient ? s.channels : s.filters;
  const int positions = gradient ? s.in_h * s.in_w : s.positions();
  return s.taps() * outputs <= 8 * columns && pitch < outputs + 4 && s.pool == 1 &&
         s.positions() > 1 && std::int64_t{count} * positions >= many_positions * multiprocessors &&
         tap_products_part(s, outputs, count, gradient, true, multiprocessors).patches.each > 0;
}

TapProducts tap_products_part(const ConvShape& s, int outputs, int count, bool gradient, bool fp32,
                              int multiprocessors) {
  TapProducts p{};
  p.gradient = gradient, p.outputs = outputs, p.fp32 = fp32, p.count = count;
  p.shape = gradient ? swapped(s) : s;
  if (gradient) {
    p.spread = {s.stride_h, s.stride_w};
    p.shape.stride_h = p.shape.stride_w = 1;
  }
  const int left = most_shared - kernel_bytes(p);
  if (left < least_products) return p;
  // Patches of few lines read their border again: as many as the chip has at once, or fewer.
  divide_patches(p.patches, p.shape, pitch_of(p), count, blocks_each * multiprocessors,
                 std::min(left, most_products), p.spread);
  return p;
}

cudaError_t launch_tap_products(const TapProducts& p, cudaStream_t stream) {
  const auto kernel = p.fp32 ? tap_products_kernel<true> : tap_products_kernel<false>;
  const int bytes = kernel_bytes(p) + p.patches.bytes(pitch_of(p));
  if (bytes > 48 * 1024)
    if (const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared);
        error != cudaSuccess)
      return error;
  const int blocks =
      std::min(p.count * p.patches.each, blocks_each * current_chip().multiprocessors);
  return launch(kernel, blocks, output_threads, bytes, stream, p);
}

}  // namespace sweetspot::engine::cuda
