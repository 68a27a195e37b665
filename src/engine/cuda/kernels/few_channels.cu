#include <algorithm>

#include "engine/cuda/kernels/few_channels.cuh"

// A first convolution has so few multiplications per output that the tiles of a product would wait
// for their operands: each thread reads pixels in place and multiplies them, in fp32, by its
// filters' kernels from shared memory. Where there are enough of them, the tensor cores do the same
// (few_channels_products.cu).
namespace sweetspot::engine::cuda {
namespace {

constexpr int few_threads = 256, most_positions = 4;  // positions per thread
constexpr int filters_each = 8, most_lanes = 8;
constexpr int most_shared = 48 * 1024;

int tile_filters(int lanes) { return lanes * filters_each; }

// Few padding filters, in few tiles: fewer lanes store less of a line of memory at a time, and more
// tiles read the pixels once more each.
int lanes_for(int filters) {
  int best = most_lanes;
  const auto cost = [&](int lanes) {
    constexpr double worth = 4;  // filters
    const int tile = tile_filters(lanes), tiles = (filters + tile - 1) / tile;
    return tiles * (tile + worth);
  };
  for (int lanes = most_lanes / 2; lanes > 0; lanes /= 2)
    if (cost(lanes) < cost(best)) best = lanes;
  return best;
}

__device__ void add_products(float4& sum, float4 w, float x) {
  sum.x = fmaf(w.x, x, sum.x), sum.y = fmaf(w.y, x, sum.y);
  sum.z = fmaf(w.z, x, sum.z), sum.w = fmaf(w.w, x, sum.w);
}

template <int channels, bool special, int few_positions>
__global__ void __launch_bounds__(few_threads, 3)
    few_channels_kernel(const __grid_constant__ FewChannels p) {
  extern __shared__ __align__(16) float kernel[];  // (tap, channel, filter)
  const ConvShape& s = p.shape;
  const int rows = few_threads / p.filter_lanes;
  const int lane = threadIdx.x % p.filter_lanes, row = threadIdx.x / p.filter_lanes;
  const int tile = p.by_tiles.quotient(blockIdx.x), part = blockIdx.x - tile * p.filter_tiles;
  const int width = p.filter_lanes * filters_each, first_filter = part * width;
  const int taps = s.kernel_h * s.kernel_w;
  for (int i = threadIdx.x * 4; i < taps * channels * width; i += few_threads * 4) {
    const int at = i / width, n = first_filter + i - at * width;
    const int tap = at / channels, c = at - tap * channels;
    store4(kernel + i,
           n < s.filters
               ? load4(p.weights + static_cast<std::int64_t>(tap * s.channels + c) * s.filters + n)
               : float4{});
  }
  int line[few_positions], column[few_positions], corner[few_positions];  // in pixels
  const auto position = [&](int i) { return (tile * few_positions + i) * rows + row; };
#pragma unroll
  for (int i = 0; i < few_positions; ++i) {
    const int m = position(i);
    const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
    const int y = p.by_out_w.quotient(at), x = at - y * s.out_w;
    line[i] = sample < p.count ? y * s.stride_h - s.pad_top : outside;
    column[i] = x * s.stride_w - s.pad_left;
    corner[i] = (sample * s.in_h + line[i]) * s.in_w + column[i];
  }
  float4 sums[few_positions][2] = {};
  wait_for_predecessor();
  __syncthreads();
  const float4* pixels = reinterpret_cast<const float4*>(p.input);
  const float* w = kernel + lane * 4;
  for (int ky = 0; ky < s.kernel_h; ++ky)
    for (int kx = 0; kx < s.kernel_w; ++kx, w += channels * width) {
      float4 x[few_positions];
#pragma unroll
      for (int i = 0; i < few_positions; ++i) {
        const bool inside = static_cast<unsigned>(line[i] + ky) < s.in_h &&
                            static_cast<unsigned>(column[i] + kx) < s.in_w;
        x[i] = inside ? pixels[corner[i] + ky * s.in_w + kx] : float4{};
      }
#pragma unroll
      for (int c = 0; c < channels; ++c) {
        const float4 low = load4(w + c * width), high = load4(w + c * width + width / 2);
#pragma unroll
        for (int i = 0; i < few_positions; ++i) {
          const float v = c == 0 ? x[i].x : c == 1 ? x[i].y : c == 2 ? x[i].z : x[i].w;
          add_products(sums[i][0], low, v), add_products(sums[i][1], high, v);
        }
      }
    }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int n = first_filter + lane * 4 + half * (width / 2);
    if (n >= s.filters) continue;
    const float4 bias = p.bias ? load4(p.bias + n) : float4{};
#pragma unroll
    for (int i = 0; i < few_positions; ++i) {
      if (line[i] == outside) continue;
      store_outputs<special>(p, position(i), n, sums[i][half] + bias);
    }
  }
}

template <bool special, int positions>
auto kernel_of(int channels) {
  return channels == 1   ? few_channels_kernel<1, special, positions>
         : channels == 2 ? few_channels_kernel<2, special, positions>
         : channels == 3 ? few_channels_kernel<3, special, positions>
                         : few_channels_kernel<4, special, positions>;
}

int shared_bytes(const ConvShape& shape, int channels, int lanes) {
  return shape.taps() * channels * tile_filters(lanes) * static_cast<int>(sizeof(float));
}

bool plain_support(const ConvShape& shape, int channels, bool fp32) {
  // Multiplications (tap, channel, filter) of a position: with more, other products are faster.
  // They compute at least 32 filters, and fp32 in six products.
  constexpr int many_filters = 32;
  const int most_rows = fp32 ? 2 * few_channel_rows : few_channel_rows;
  return shape.taps() * channels * std::min(shape.filters, many_filters) <=
             most_rows * many_filters &&
         shared_bytes(shape, channels, lanes_for(shape.filters)) <= most_shared;
}

// With few rows the stores take longest, and with few positions one thread each keeps more of the
// chip busy.
bool tensor_cores_pay(const ConvShape& shape, int channels, int count, bool fp32,
                      int multiprocessors) {
  constexpr int very_few_rows = 24;
  const int rows = shape.taps() * channels;
  const std::int64_t warps = rows > few_channel_rows ? 4 : 8;  // of a multiprocessor
  return rows >= very_few_rows && few_channels_products_support(shape, channels, fp32) &&
         std::int64_t{count} * shape.positions() >=
             warps * few_channels_warp_positions * multiprocessors;
}

}  // namespace

bool few_channels_support(const ConvShape& shape, int channels, int count, Math math,
                          int multiprocessors) {
  const bool fp32 = math == Math::fp32;
  return channels <= 4 && shape.channels == 4 && shape.pool == 1 && shape.positions() > 1 &&
         (plain_support(shape, channels, fp32) ||
          tensor_cores_pay(shape, channels, count, fp32, multiprocessors));
}

FewChannels few_channels_part(const ConvShape& shape, int channels, int count) {
  FewChannels p{};
  p.shape = shape, p.channels = channels, p.count = count;
  p.by_out = Divider(static_cast<std::uint32_t>(shape.positions()));
  p.by_out_w = Divider(static_cast<std::uint32_t>(shape.out_w));
  p.filter_lanes = lanes_for(shape.filters);
  const int tile = tile_filters(p.filter_lanes);
  p.filter_tiles = (shape.filters + tile - 1) / tile;
  p.by_tiles = Divider(static_cast<std::uint32_t>(p.filter_tiles));
  return p;
}

cudaError_t launch_few_channels(const FewChannels& p, cudaStream_t stream) {
  // A smaller batch of the same plan may have few positions.
  if (tensor_cores_pay(p.shape, p.channels, p.count, p.fp32, current_chip().multiprocessors) ||
      !plain_support(p.shape, p.channels, p.fp32))
    return launch_few_channels_products(p, stream);
  const std::int64_t positions = std::int64_t{p.count} * p.shape.positions();
  const auto blocks_of = [&](int each) {
    const int rows = few_threads / p.filter_lanes * each;
    return static_cast<int>((positions + rows - 1) / rows) * p.filter_tiles;
  };
  const int bytes = shared_bytes(p.shape, p.channels, p.filter_lanes);
  const bool special = special_outputs(p);
  // Several positions share the reads of the kernel; one keeps more of the chip busy.
  constexpr int busy = 4;  // blocks of a multiprocessor
  if (blocks_of(most_positions) < busy * current_chip().multiprocessors)
    return launch(special ? kernel_of<true, 1>(p.channels) : kernel_of<false, 1>(p.channels),
                  blocks_of(1), few_threads, bytes, stream, p);
  return launch(special ? kernel_of<true, most_positions>(p.channels)
                        : kernel_of<false, most_positions>(p.channels),
                blocks_of(most_positions), few_threads, bytes, stream, p);
}

}  // namespace sweetspot::engine::cuda
