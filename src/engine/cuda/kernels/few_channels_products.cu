#include <algorithm>

#include "engine/cuda/kernels/few_channels.cuh"

// The convolution over few channels on the tensor cores: pixels go from memory to the operands'
// registers, since a thread that reads a whole pixel has the operands of one tap. Which depth a
// step multiplies is arbitrary, as long as both operands agree: those of thread t of four are the
// channels of its own tap. In tf32, or in fp32 as two terms of tf32 (22 bits) and three products.
namespace sweetspot::engine::cuda {
namespace {

constexpr int most_threads = 256, fewest_threads = 64;
constexpr int warp_positions = few_channels_warp_positions, sixteens = warp_positions / 16;
constexpr int thread_positions = 2 * sixteens;
constexpr int most_bytes = 64 * 1024;  // of shared memory

// A group of taps is as many steps of the depth, eight each.
__host__ __device__ constexpr int group_taps(int channels) { return channels == 1 ? 8 : 4; }
__host__ __device__ constexpr int group_steps(int channels) { return channels <= 2 ? 1 : 2; }
int groups_of(const ConvShape& shape, int channels) {
  return (shape.taps() + group_taps(channels) - 1) / group_taps(channels);
}
int bytes_of(const ConvShape& shape, int channels, int pairs, bool fp32) {
  const int groups = groups_of(shape, channels);
  const int fragment = 32 * static_cast<int>(fp32 ? sizeof(float4) : sizeof(float2));
  return groups * group_steps(channels) * 2 * pairs * fragment +
         groups * group_taps(channels) * static_cast<int>(sizeof(short2));
}
// Pairs of eight filters that a warp has: many, if that wastes few.
int pairs_for(const ConvShape& shape, int channels, bool fp32) {
  const int padded64 = (shape.filters + 63) / 64 * 64, padded32 = (shape.filters + 31) / 32 * 32;
  return padded64 == padded32 && bytes_of(shape, channels, 4, fp32) <= most_bytes ? 4 : 2;
}

template <int channels, bool fp32, int pairs, bool special>
__global__ void __launch_bounds__(most_threads, 2)
    few_channels_products_kernel(const __grid_constant__ FewChannels p) {
  using Fragment = std::conditional_t<fp32, float4, float2>;  // of the kernel, with its rest
  constexpr int taps_each = group_taps(channels), steps = group_steps(channels);
  constexpr int columns = 2 * pairs;  // of eight filters
  extern __shared__ __align__(16) unsigned char shared[];
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, groups = (taps + taps_each - 1) / taps_each;
  auto* kernel = reinterpret_cast<Fragment*>(shared);
  auto* places = reinterpret_cast<short2*>(kernel + groups * steps * columns * 32);  // of the taps
  const int parts = (s.filters + 16 * pairs - 1) / (16 * pairs);
  const int part = blockIdx.x % parts, first_filter = part * 16 * pairs;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

  const auto weight = [&](int tap, int c, int n) {
    return tap < taps && c < channels && n < s.filters
               ? p.weights[static_cast<std::int64_t>(tap * s.channels + c) * s.filters + n]
               : 0.f;
  };
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int i = warp; i < groups * steps * columns; i += warps) {
    // Adjacent columns of two tiles are four adjacent filters, which one thread stores.
    const int column = i % columns, step = i / columns % steps, group = i / columns / steps;
    const int n = first_filter + column / 2 * 16 + g / 2 * 4 + column % 2 * 2 + g % 2;
    const int tap = group * taps_each + t;
    const float low = weight(tap, 2 * step, n);
    const float high = channels == 1 ? weight(tap + 4, 0, n) : weight(tap, 2 * step + 1, n);
    const float a = Tf32::round(low), b = Tf32::round(high);
    if constexpr (fp32)
      kernel[i * 32 + lane] = {a, b, Tf32::round(low - a), Tf32::round(high - b)};
    else
      kernel[i * 32 + lane] = {a, b};
  }
  for (int tap = threadIdx.x; tap < groups * taps_each; tap += blockDim.x) {
    const int y = tap / s.kernel_w;
    places[tap] =
        tap < taps ? make_short2(y, tap - y * s.kernel_w) : make_short2(outside, 0);  // reads zeros
  }
  wait_for_predecessor();
  __syncthreads();

  const auto* pixels = reinterpret_cast<const float4*>(p.input);
  const std::int64_t positions = std::int64_t{p.count} * p.by_out.divisor;
  const std::int64_t stride = std::int64_t{gridDim.x / parts} * warps * warp_positions;
  for (std::int64_t begin = std::int64_t{blockIdx.x / parts * warps + warp} * warp_positions;
       begin < positions; begin += stride) {
    const int first = static_cast<int>(begin) + g;
    int line[thread_positions], column[thread_positions], corner[thread_positions];
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
      const int m = first + 8 * i;
      const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
      const int y = p.by_out_w.quotient(at), x = at - y * s.out_w;
      line[i] = sample < p.count ? y * s.stride_h - s.pad_top : outside;
      column[i] = x * s.stride_w - s.pad_left;
      corner[i] = (sample * s.in_h + line[i]) * s.in_w + column[i];
    }
    const auto inside = [&](int i, short2 place) {
      return static_cast<unsigned>(line[i] + place.x) < s.in_h &&
             static_cast<unsigned>(column[i] + place.y) < s.in_w;
    };
    float sums[sixteens][columns][4] = {};
#pragma unroll(fp32 ? 1 : 2)
    for (int group = 0; group < groups; ++group) {
      float operand[thread_positions][2 * steps];  // those of each position and step
      if constexpr (channels == 1) {
        const short2 low = places[group * taps_each + t], high = places[group * taps_each + 4 + t];
        const int low_at = low.x * s.in_w + low.y, high_at = high.x * s.in_w + high.y;
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
          operand[i][0] = inside(i, low) ? p.input[std::int64_t{corner[i] + low_at} * 4] : 0.f;
          operand[i][1] = inside(i, high) ? p.input[std::int64_t{corner[i] + high_at} * 4] : 0.f;
        }
      } else {
        const short2 place = places[group * taps_each + t];
        const int place_at = place.x * s.in_w + place.y;
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
          const float4 x = inside(i, place) ? pixels[corner[i] + place_at] : float4{};
          operand[i][0] = x.x, operand[i][1] = x.y;
          if constexpr (steps == 2) operand[i][2] = x.z, operand[i][3] = x.w;
        }
      }
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        float left[sixteens][4], rest[sixteens][4];
#pragma unroll
        for (int i = 0; i < sixteens; ++i)
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            const float x = operand[2 * i + r % 2][2 * step + r / 2];
            left[i][r] = Tf32::round(x);
            if constexpr (fp32) rest[i][r] = Tf32::round(x - left[i][r]);
          }
        const Fragment* from = kernel + (group * steps + step) * columns * 32 + lane;
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
    }
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair) {
      const int n = first_filter + pair * 16 + t * 4;
      if (n >= s.filters) continue;
      const float4 bias = p.bias ? load4(p.bias + n) : float4{};
#pragma unroll
      for (int i = 0; i < thread_positions; ++i) {
        if (line[i] == outside) continue;
        const auto& low = sums[i / 2][2 * pair];
        const auto& high = sums[i / 2][2 * pair + 1];
        const int half = i % 2 * 2;
        store_outputs<special>(p, first + 8 * i, n,
                               float4{low[half], low[half + 1], high[half], high[half + 1]} + bias);
      }
    }
  }
}

template <bool fp32, int pairs, bool special>
auto kernel_of(int channels) {
  return channels == 1   ? few_channels_products_kernel<1, fp32, pairs, special>
         : channels == 2 ? few_channels_products_kernel<2, fp32, pairs, special>
         : channels == 3 ? few_channels_products_kernel<3, fp32, pairs, special>
                         : few_channels_products_kernel<4, fp32, pairs, special>;
}
template <bool fp32>
auto kernel_of(int channels, int pairs, bool special) {
  if (pairs == 4)
    return special ? kernel_of<fp32, 4, true>(channels) : kernel_of<fp32, 4, false>(channels);
  return special ? kernel_of<fp32, 2, true>(channels) : kernel_of<fp32, 2, false>(channels);
}

}  // namespace

bool few_channels_products_support(const ConvShape& shape, int channels, bool fp32) {
  constexpr int few_filters = 16;  // which leave half of a tile empty
  return shape.filters > few_filters && bytes_of(shape, channels, 2, fp32) <= most_bytes;
}

cudaError_t launch_few_channels_products(const FewChannels& p, cudaStream_t stream) {
  const int pairs = pairs_for(p.shape, p.channels, p.fp32);
  const int bytes = bytes_of(p.shape, p.channels, pairs, p.fp32);
  const bool special = special_outputs(p);
  const auto kernel = p.fp32 ? kernel_of<true>(p.channels, pairs, special)
                             : kernel_of<false>(p.channels, pairs, special);
  if (bytes > 48 * 1024)
    if (const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
        error != cudaSuccess)
      return error;
  // Blocks that run at once read the kernel once for all their positions; if there are few, they
  // are smaller.
  const std::int64_t positions = std::int64_t{p.count} * p.shape.positions();
  const int parts = (p.shape.filters + 16 * pairs - 1) / (16 * pairs);
  const int at_once = std::max(1, 2 * current_chip().multiprocessors / parts);
  const auto blocks_of = [&](int threads) {
    return static_cast<int>((positions + threads - 1) / threads);  // a position for each thread
  };
  const int threads = blocks_of(most_threads) < at_once / 2 ? fewest_threads : most_threads;
  return launch(kernel, std::min(blocks_of(threads), at_once) * parts, threads, bytes, stream, p);
}

}  // namespace sweetspot::engine::cuda
