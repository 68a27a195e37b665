#include <algorithm>

#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/few_filters.h"
#include "engine/cuda/kernels/patches.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// Tiles of a product would have a depth of padding. Without strides this is a convolution over the
// few filters, whose output gradients are the pixels of a patch (patches.h), on the tensor cores: a
// step of the depth is eight of the kernel's rows (tap, filter). In tf32, or in fp32 as two terms
// of tf32 (22 bits) and three products.
namespace sweetspot::engine::cuda {
namespace {

constexpr int product_threads = 128, product_warps = product_threads / 32;
constexpr int warp_positions = 32, sixteens = warp_positions / 16;
constexpr int thread_positions = 2 * sixteens;
// Of shared memory; every GPU has the sum that the kernels are compiled for.
constexpr int kernel_bytes = 40 * 1024, pixel_bytes = 20 * 1024, most_bytes = 96 * 1024;

int steps_of(const ConvShape& shape, int channels) { return (shape.taps() * channels + 7) / 8; }
int kernel_bytes_of(const ConvShape& shape, int channels, int pairs, bool fp32) {
  const int fragment = 32 * static_cast<int>(fp32 ? sizeof(float4) : sizeof(float2));
  return steps_of(shape, channels) * (2 * pairs * fragment + 8 * static_cast<int>(sizeof(int)));
}
// Floats of a position's filters, of one warp, before they are stored.
__host__ __device__ constexpr int stored_pitch_of(int pairs) { return 16 * pairs + 4; }
int stored_bytes(int pairs) {
  return product_warps * warp_positions * stored_pitch_of(pairs) * static_cast<int>(sizeof(float));
}
// Pairs of eight filters that a warp has: many, if they waste few and their kernels fit. In fp32
// registers are scarce.
int pairs_for(const ConvShape& shape, int channels, bool fp32) {
  const auto padded = [&](int pairs) {
    return (shape.filters + 16 * pairs - 1) / (16 * pairs) * 16 * pairs;
  };
  const auto fits = [&](int pairs) {
    return kernel_bytes_of(shape, channels, pairs, fp32) <= kernel_bytes;
  };
  if (!fp32 && padded(4) == padded(2) && fits(4)) return 4;
  return shape.filters > 16 && fits(2) ? 2 : 1;
}

// Four channels from n on of the input's gradient at one of all positions.
__device__ void store_gradient(const FewFiltersData& p, std::int64_t m, int n, float4 v) {
  const std::int64_t at = m * p.shape.filters + n;
  v = v * p.scale;
  if (p.input_function != Function::linear)
    v = through_activation(p.input_function, load4(p.input + at), v);
  store_value4(p.input_gradient, p.input_gradient_terms, at, v);
}

template <bool fp32, int pairs>
__global__ void __launch_bounds__(product_threads, 4)
    few_filters_data_kernel(const __grid_constant__ FewFiltersData p) {
  using Fragment = std::conditional_t<fp32, float4, float2>;  // of the kernel, with its rest
  constexpr int columns = 2 * pairs;                          // of eight filters
  extern __shared__ __align__(16) unsigned char shared[];
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, rows = taps * p.channels, steps = (rows + 7) / 8;
  auto* kernel = reinterpret_cast<Fragment*>(shared);
  auto* places = reinterpret_cast<int*>(kernel + steps * columns * 32);  // of the rows
  constexpr int quads = 4 * pairs, stored_pitch = stored_pitch_of(pairs);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  auto* stored =
      reinterpret_cast<float*>(places + steps * 8) + warp * warp_positions * stored_pitch;
  auto* pixels =
      reinterpret_cast<float*>(places + steps * 8) + product_warps * warp_positions * stored_pitch;
  const int parts = (s.filters + 16 * pairs - 1) / (16 * pairs);
  const int part = blockIdx.x % parts, first_filter = part * 16 * pairs;

  const auto weight = [&](int row, int filter) {
    if (row >= rows || filter >= s.filters) return 0.f;
    const int tap = row / p.channels, c = row - tap * p.channels;
    return p.weights[((taps - 1 - tap) * s.filters + filter) * s.channels + c];
  };
#pragma unroll 4
  for (int i = warp; i < steps * columns; i += product_warps) {
    // Adjacent columns of two tiles are four adjacent filters, which one thread stores.
    const int step = i / columns, column = i - step * columns;
    const int filter = first_filter + column / 2 * 16 + g / 2 * 4 + column % 2 * 2 + g % 2;
    const float low = weight(8 * step + t, filter), high = weight(8 * step + t + 4, filter);
    const float a = Tf32::round(low), b = Tf32::round(high);
    if constexpr (fp32)
      kernel[i * 32 + lane] = {a, b, Tf32::round(low - a), Tf32::round(high - b)};
    else
      kernel[i * 32 + lane] = {a, b};
  }
  for (int row = threadIdx.x; row < steps * 8; row += product_threads)
    places[row] = place_of(p.patches, s, p.channels, row < rows ? row : 0);
  const int n = first_filter + lane % quads * 4;  // that this thread stores
  wait_for_predecessor();

  const int all = p.count * p.patches.each;
  for (int which = blockIdx.x / parts; which < all; which += gridDim.x / parts) {
    const Patch patch = patch_of(p.patches, s, which);
    const std::int64_t first_of_patch =
        (std::int64_t{patch.sample} * s.out_h + patch.y) * s.out_w + patch.x;
    __syncthreads();
    load_patch<!fp32>(p.patches, s, p.channels, patch, p.gradient, p.code, pixels);
    __syncthreads();
    for (int begin = warp * warp_positions; begin < patch.count;
         begin += product_warps * warp_positions) {
      const float* corner[thread_positions];
#pragma unroll
      for (int i = 0; i < thread_positions; ++i)
        corner[i] =
            pixels + corner_of(p.patches, s, p.channels, min(begin + 8 * i + g, patch.count - 1));
      float sums[sixteens][columns][4] = {};
      for (int step = 0; step < steps; ++step) {
        const int low = places[8 * step + t], high = places[8 * step + t + 4];
        float left[sixteens][4], rest[sixteens][4];
#pragma unroll
        for (int i = 0; i < sixteens; ++i)
#pragma unroll
          for (int r = 0; r < 4; ++r) {  // r % 2: of the positions, r / 2: of the rows
            const float x = corner[2 * i + r % 2][r < 2 ? low : high];
            if constexpr (fp32)
              split_terms(x, left[i][r], rest[i][r]);
            else
              left[i][r] = x;
          }
        const Fragment* from = kernel + step * columns * 32 + lane;
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          const Fragment w = from[j * 32];
          const float right[2] = {w.x, w.y};
          if constexpr (fp32) {
            const float right_rest[2] = {w.z, w.w};
#pragma unroll
            for (int i = 0; i < sixteens; ++i) Tf32::step(rest[i], right, sums[i][j]);
#pragma unroll
            for (int i = 0; i < sixteens; ++i) Tf32::step(left[i], right_rest, sums[i][j]);
          }
#pragma unroll
          for (int i = 0; i < sixteens; ++i) Tf32::step(left[i], right, sums[i][j]);
        }
      }
      // Through shared memory, so that lines are stored whole, by little code.
      __syncwarp();
#pragma unroll
      for (int i = 0; i < thread_positions; ++i)
#pragma unroll
        for (int pair = 0; pair < pairs; ++pair) {
          const auto& low = sums[i / 2][2 * pair];
          const auto& high = sums[i / 2][2 * pair + 1];
          const int half = i % 2 * 2;
          store4(stored + (8 * i + g) * stored_pitch + pair * 16 + t * 4,
                 {low[half], low[half + 1], high[half], high[half + 1]});
        }
      __syncwarp();
      const int here = min(warp_positions, patch.count - begin);
#pragma unroll 2
      for (int i = lane / quads; i < here && n < s.filters; i += 32 / quads) {
        const float4 v = load4(stored + i * stored_pitch + lane % quads * 4);
        const std::int64_t m = first_of_patch + begin + i;
        store_gradient(p, m, n, v);
      }
    }
  }
}

auto kernel_of(bool fp32, int pairs) {
  if (fp32) return pairs == 1 ? few_filters_data_kernel<true, 1> : few_filters_data_kernel<true, 2>;
  return pairs == 1   ? few_filters_data_kernel<false, 1>
         : pairs == 2 ? few_filters_data_kernel<false, 2>
                      : few_filters_data_kernel<false, 4>;
}

}  // namespace

bool few_filters_data_support(const ConvShape& s, int filters, bool fp32) {
  if (filters > most_few_filters || s.filters >= filters + 4 || s.pool > 1 || s.stride_h > 1 ||
      s.stride_w > 1 || s.positions() == 1)
    return false;
  const ConvShape shape = swapped(s);
  Patches patches{};
  return kernel_bytes_of(shape, filters, pairs_for(shape, filters, fp32), fp32) <= kernel_bytes &&
         divide_patches(patches, shape, filters, 1, 1, pixel_bytes);
}

FewFiltersData few_filters_data_part(const ConvShape& shape, int filters, int count, bool fp32) {
  FewFiltersData p{};
  p.shape = swapped(shape), p.channels = filters, p.count = count, p.fp32 = fp32;
  return p;
}

double few_filters_data_clocks(const FewFiltersData& p, int multiprocessors) {
  const int pairs = pairs_for(p.shape, p.channels, p.fp32);
  const int parts = (p.shape.filters + 16 * pairs - 1) / (16 * pairs);
  const double step = (p.fp32 ? 20 : 10) + (p.fp32 ? 12 : 5) * pairs;  // of 32 positions
  constexpr double start = 6000, store = 20;
  const double warps = static_cast<double>(p.count) * p.shape.positions() / warp_positions * parts;
  return start + warps * (step * steps_of(p.shape, p.channels) + store * pairs) / multiprocessors;
}

cudaError_t launch_few_filters_data(const FewFiltersData& part, cudaStream_t stream) {
  FewFiltersData p = part;
  const int pairs = pairs_for(p.shape, p.channels, p.fp32);
  const auto kernel = kernel_of(p.fp32, pairs);
  // Blocks that run at once read the kernel once for all their patches.
  constexpr int blocks_each = 4;
  const int parts = (p.shape.filters + 16 * pairs - 1) / (16 * pairs);
  const int at_once = std::max(1, blocks_each * current_chip().multiprocessors / parts);
  if (!divide_patches(p.patches, p.shape, p.channels, p.count, at_once, pixel_bytes))
    return cudaErrorInvalidValue;
  const int bytes = kernel_bytes_of(p.shape, p.channels, pairs, p.fp32) + stored_bytes(pairs) +
                    p.patches.bytes(p.channels);
  if (bytes > 48 * 1024)
    if (const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
        error != cudaSuccess)
      return error;
  return launch(kernel, std::min(p.count * p.patches.each, at_once) * parts, product_threads, bytes,
                stream, p);
}

}  // namespace sweetspot::engine::cuda
