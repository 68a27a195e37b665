#include <algorithm>

#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/few_channels.h"
#include "engine/cuda/kernels/vectors.cuh"

// A convolution over few channels has so few multiplications for each value it writes or reads that
// tensor cores would wait for their operands: here all are fp32. Forward each thread reads pixels
// as they lie, and multiplies them by its filters' kernels from shared memory.
namespace sweetspot::engine::cuda {
namespace {

constexpr int few_threads = 256, few_positions = 4;  // positions of a thread
constexpr int filters_each = 8, most_lanes = 8;
constexpr int most_shared = 48 * 1024;
constexpr int outside = -30000;  // a line that no tap brings into the image

int tile_filters(int lanes) { return lanes * filters_each; }

// As few filters too many as possible, in as few tiles.
int lanes_for(int filters) {
  int best = most_lanes;
  const auto padded = [&](int lanes) {
    const int tile = tile_filters(lanes);
    return (filters + tile - 1) / tile * tile;
  };
  for (int lanes = most_lanes / 2; lanes > 0; lanes /= 2)
    if (padded(lanes) < padded(best)) best = lanes;
  return best;
}

__device__ void add_products(float4& sum, float4 w, float x) {
  sum.x = fmaf(w.x, x, sum.x), sum.y = fmaf(w.y, x, sum.y);
  sum.z = fmaf(w.z, x, sum.z), sum.w = fmaf(w.w, x, sum.w);
}

template <int channels>
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
      const std::int64_t at = static_cast<std::int64_t>(position(i)) * s.filters + n;
      float4 v = sums[i][half] + bias;
      if (p.relu) v = each(v, [](float e) { return rectified(e); });
      store4(p.value + at, v);
      const auto code = [](float e) { return e == 0 ? no_gradient : std::uint8_t{0}; };
      if (p.code)
        *reinterpret_cast<uchar4*>(p.code + at) = {code(v.x), code(v.y), code(v.z), code(v.w)};
    }
  }
}

// The gradient of the weights. A block has up to 28 rows (tap, channel), 64 filters and a split of
// the positions; its warps take positions in turn, each with all rows and filters, and add up.
constexpr int weight_rows = 28, weight_filters = 64, warps = few_threads / 32;
constexpr int rows_each = 7, weight_stage = 64;  // rows of a lane; positions at a time

int row_tiles(const ConvShape& shape, int channels) {
  return (shape.taps() * channels + weight_rows - 1) / weight_rows;
}
int filter_tiles(const ConvShape& shape) {
  return (shape.filters + weight_filters - 1) / weight_filters;
}

template <int channels>
__global__ void __launch_bounds__(few_threads, 2)
    few_channels_weights_kernel(const __grid_constant__ FewChannels p) {
  __shared__ __align__(16) float gradients[weight_stage][weight_filters];
  __shared__ float inputs[weight_stage][weight_rows];
  const ConvShape& s = p.shape;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int filter_tiles = (s.filters + weight_filters - 1) / weight_filters;
  const int row_tile = blockIdx.y / filter_tiles,
            filter_tile = blockIdx.y - row_tile * filter_tiles;
  const int rows = s.kernel_h * s.kernel_w * channels, row0 = row_tile * weight_rows;
  const int n0 = filter_tile * weight_filters;
  const int positions = p.count * static_cast<int>(p.by_out.divisor);
  const int share = (positions + p.splits - 1) / p.splits;
  const int begin = min(static_cast<int>(blockIdx.x) * share, positions);
  const int end = min(begin + share, positions);

  // What this thread loads: one row of every eighth position, four filters of every sixteenth.
  const int tap = (row0 + lane) / channels, channel = row0 + lane - tap * channels;
  const int ky = tap / s.kernel_w, kx = tap - ky * s.kernel_w;
  const bool loads_row = lane < weight_rows && row0 + lane < rows;
  const int four = threadIdx.x % 16 * 4;
  constexpr int each_input = weight_stage / warps, each_gradient = weight_stage / 16;
  float x[each_input];
  float4 g[each_gradient], bias{};
  const auto fetch = [&](int first) {
#pragma unroll
    for (int i = 0; i < each_input; ++i) {
      const int m = first + i * warps + warp, sample = p.by_out.quotient(m);
      const int at = m - sample * p.by_out.divisor, y = p.by_out_w.quotient(at);
      const int line = y * s.stride_h - s.pad_top + ky;
      const int column = (at - y * s.out_w) * s.stride_w - s.pad_left + kx;
      const bool inside = loads_row && m < end && static_cast<unsigned>(line) < s.in_h &&
                          static_cast<unsigned>(column) < s.in_w;
      x[i] =
          inside
              ? p.input[(static_cast<std::int64_t>(sample * s.in_h + line) * s.in_w + column) * 4 +
                        channel]
              : 0.f;
    }
#pragma unroll
    for (int i = 0; i < each_gradient; ++i) {
      const int m = first + i * 16 + threadIdx.x / 16, n = n0 + four;
      const std::int64_t at = static_cast<std::int64_t>(m) * s.filters + n;
      const bool real = m < end && n < s.filters;
      g[i] = real ? load4(p.gradient + at) : float4{};
      if (real && p.code) {
        const uchar4 code = *reinterpret_cast<const uchar4*>(p.code + at);
        g[i] = {code.x ? 0.f : g[i].x, code.y ? 0.f : g[i].y, code.z ? 0.f : g[i].z,
                code.w ? 0.f : g[i].w};
      }
    }
  };

  const int row = lane / 8 * rows_each, filter = lane % 8 * 4;
  float4 sums[rows_each][2] = {};
  wait_for_predecessor();
  fetch(begin);
  for (int first = begin; first < end; first += weight_stage) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < each_input; ++i)
      if (lane < weight_rows) inputs[i * warps + warp][lane] = x[i];
#pragma unroll
    for (int i = 0; i < each_gradient; ++i) {
      store4(&gradients[i * 16 + threadIdx.x / 16][four], g[i]);
      bias = bias + g[i];
    }
    __syncthreads();
    fetch(first + weight_stage);
#pragma unroll 2
    for (int m = warp; m < weight_stage; m += warps) {
      const float4 low = load4(&gradients[m][filter]), high = load4(&gradients[m][filter + 32]);
#pragma unroll
      for (int r = 0; r < rows_each; ++r) {
        const float v = inputs[m][row + r];
        add_products(sums[r][0], low, v), add_products(sums[r][1], high, v);
      }
    }
  }
  // Added up in the order of the warps.
  for (int other = 0; other < warps; ++other) {
    __syncthreads();
    if (warp != other) continue;
#pragma unroll
    for (int r = 0; r < rows_each; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float* to = &gradients[row + r][filter + 32 * half];
        store4(to, other == 0 ? sums[r][half] : load4(to) + sums[r][half]);
      }
  }
  __syncthreads();
  float* partial = p.partials + blockIdx.x * p.partial_stride + n0;
  bool finite = true;
  // With zeros for the channels that are padding: each of the kernel's rows has one writer.
  for (int i = threadIdx.x; i < weight_rows * weight_filters / 4; i += few_threads) {
    const int r = i / (weight_filters / 4), n = i % (weight_filters / 4) * 4;
    if (row0 + r >= rows || n0 + n >= s.filters) continue;
    const float4 v = load4(&gradients[r][n]);
    finite = finite && isfinite(v.x + v.y + v.z + v.w);
    const int at = (row0 + r) / channels, c = row0 + r - at * channels;
    store4(partial + static_cast<std::int64_t>(at * 4 + c) * s.filters + n, v);
    if (c == 0)
      for (int padding = channels; padding < 4; ++padding)
        store4(partial + static_cast<std::int64_t>(at * 4 + padding) * s.filters + n, float4{});
  }
  if (p.bias && row_tile == 0) {
    __syncthreads();
    store4(&gradients[threadIdx.x / 16][four], bias);
    __syncthreads();
    if (const int n = threadIdx.x; n < weight_filters && n0 + n < s.filters) {
      float sum = 0;
      for (int i = 0; i < 16; ++i) sum += gradients[i][n];
      finite = finite && isfinite(sum);
      partial[static_cast<std::int64_t>(s.kernel_h * s.kernel_w * 4) * s.filters + n] = sum;
    }
  }
  if (!finite) p.state->bad = 1;  // which fp16 alone looks at
}

int shared_bytes(const ConvShape& shape, int channels, int lanes) {
  return shape.taps() * channels * tile_filters(lanes) * static_cast<int>(sizeof(float));
}

}  // namespace

bool few_channels_support(const ConvShape& shape, int channels) {
  constexpr int most_rows = 100;  // with more (tap, channel) tensor cores are faster
  return channels <= 4 && shape.channels == 4 && shape.pool == 1 && shape.taps() > 1 &&
         shape.taps() * channels <= most_rows &&
         shared_bytes(shape, channels, lanes_for(shape.filters)) <= most_shared;
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
  const int rows = few_threads / p.filter_lanes * few_positions;
  const std::int64_t positions = std::int64_t{p.count} * p.shape.positions();
  const auto blocks = static_cast<int>((positions + rows - 1) / rows) * p.filter_tiles;
  const int bytes = shared_bytes(p.shape, p.channels, p.filter_lanes);
  const auto kernel = p.channels == 1   ? few_channels_kernel<1>
                      : p.channels == 2 ? few_channels_kernel<2>
                      : p.channels == 3 ? few_channels_kernel<3>
                                        : few_channels_kernel<4>;
  return launch(kernel, blocks, few_threads, bytes, stream, p);
}

int few_channels_splits(const ConvShape& shape, int channels, std::int64_t count,
                        int multiprocessors) {
  const std::int64_t stages = (count * shape.positions() + weight_stage - 1) / weight_stage;
  constexpr std::int64_t stages_each = 4;
  const int tiles = row_tiles(shape, channels) * filter_tiles(shape);
  return static_cast<int>(std::clamp<std::int64_t>(
      2 * multiprocessors / tiles, 1, std::max<std::int64_t>(1, stages / stages_each)));
}

cudaError_t launch_few_channels_weights(const FewChannels& p, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(p.splits),
                    static_cast<unsigned>(row_tiles(p.shape, p.channels) * filter_tiles(p.shape)));
  const auto kernel = p.channels == 1   ? few_channels_weights_kernel<1>
                      : p.channels == 2 ? few_channels_weights_kernel<2>
                      : p.channels == 3 ? few_channels_weights_kernel<3>
                                        : few_channels_weights_kernel<4>;
  return launch(kernel, blocks, few_threads, 0, stream, p);
}

}  // namespace sweetspot::engine::cuda
