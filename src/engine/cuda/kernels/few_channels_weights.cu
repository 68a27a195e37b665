#include <algorithm>

#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/few_channels.h"
#include "engine/cuda/kernels/lanes.cuh"

// The weight gradient of a convolution over few channels, in fp32: the tiles of a product would
// consist of padding. With more filters the tensor cores are faster
// (few_channels_weights_products.cu). A thread has some adjacent taps of one line of the kernel,
// all channels and four filters, in registers; groups of threads that have all of them divide the
// positions.
namespace sweetspot::engine::cuda {
namespace {

constexpr int weight_threads = 256, at_once = 2;  // positions

__device__ bool finite(float4 v) { return isfinite(v.x + v.y + v.z + v.w); }

template <int channels, int width>
__global__ void __launch_bounds__(weight_threads, 2)
    few_channels_weights_kernel(const __grid_constant__ FewChannelsWeights p) {
  extern __shared__ __align__(16) float4 shared[];
  constexpr int slots = width * channels + 1;  // the last is the bias
  const ConvShape& s = p.shape;
  const int tile = blockIdx.x, split = blockIdx.y;
  const int group = threadIdx.x / p.sharers, mine = threadIdx.x - group * p.sharers;
  const int part = mine / p.vectors, n = (tile * p.vectors + mine - part * p.vectors) * 4;
  const int ky = part / p.chunks, kx = (part - ky * p.chunks) * width;
  const bool real = group < p.groups && n < s.filters;
  float4 sums[slots] = {};
  const int begin = split * p.share, end = min(begin + p.share, p.positions);
  wait_for_predecessor();
  for (int first = begin + group; real && first < end; first += at_once * p.groups) {
    float4 g[at_once], x[at_once][width];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int m = min(first + i * p.groups, p.positions - 1);
      const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
      const int oy = p.by_out_w.quotient(at), ox = at - oy * s.out_w;
      const int y = oy * s.stride_h - s.pad_top + ky, left = ox * s.stride_w - s.pad_left + kx;
      const std::int64_t from = std::int64_t{m} * s.filters + n;
      const bool counts = first + i * p.groups < end;
      g[i] = counts ? load4(p.gradient + from) : float4{};
      if (p.code) g[i] = let_through(g[i], *reinterpret_cast<const uchar4*>(p.code + from));
      const float* pixels = p.input + 4 * ((std::int64_t{sample} * s.in_h + y) * s.in_w + left);
#pragma unroll
      for (int k = 0; k < width; ++k) {
        const bool inside = counts && static_cast<unsigned>(y) < s.in_h && kx + k < s.kernel_w &&
                            static_cast<unsigned>(left + k) < s.in_w;
        if constexpr (channels == 1)
          x[i][k].x = inside ? pixels[4 * k] : 0.f;
        else
          x[i][k] = inside ? load4(pixels + 4 * k) : float4{};
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
#pragma unroll
      for (int k = 0; k < width; ++k)
#pragma unroll
        for (int c = 0; c < channels; ++c)
          add_product(sums[k * channels + c], g[i], of4(x[i][k], c));
      sums[slots - 1] = sums[slots - 1] + g[i];
    }
  }
  // Pairs of groups, in a fixed order.
  for (int left = p.groups; left > 1;) {
    const int half = (left + 1) / 2;
    float4* to = shared + (group - half) * p.sharers + mine;
    const float4* from = shared + group * p.sharers + mine;
    const int apart = (left - half) * p.sharers;
    if (group >= half && group < left)
#pragma unroll
      for (int i = 0; i < slots; ++i) to[i * apart] = sums[i];
    __syncthreads();
    if (group + half < left)
#pragma unroll
      for (int i = 0; i < slots; ++i) sums[i] = sums[i] + from[i * apart];
    __syncthreads();
    left = half;
  }
  if (!real || group != 0) return;
  float* to = p.partials + split * p.partial_stride + n;
  bool good = true;
#pragma unroll
  for (int k = 0; k < width; ++k) {
    if (kx + k >= s.kernel_w) continue;
    float* row = to + std::int64_t{(ky * s.kernel_w + kx + k) * 4} * s.filters;
#pragma unroll
    for (int c = 0; c < 4; ++c, row += s.filters) {
      const float4 sum = c < channels ? sums[k * channels + c] : float4{};
      good = good && finite(sum);
      store4(row, sum);
    }
  }
  if (part == 0 && p.bias)
    store4(to + std::int64_t{4} * s.kernel_h * s.kernel_w * s.filters, sums[slots - 1]);
  if (!good) p.state->bad = 1;  // read only in fp16
}

// Taps of one thread: as few idle ones as possible.
int width_for(int kernel_w) {
  if (kernel_w == 1) return 1;
  int best = 5;
  const auto padded = [&](int width) { return (kernel_w + width - 1) / width * width; };
  for (const int width : {4, 3})
    if (padded(width) < padded(best)) best = width;
  return best;
}

template <int channels>
auto kernel_of(int width) {
  return width == 1   ? few_channels_weights_kernel<channels, 1>
         : width == 3 ? few_channels_weights_kernel<channels, 3>
         : width == 4 ? few_channels_weights_kernel<channels, 4>
                      : few_channels_weights_kernel<channels, 5>;
}

}  // namespace

bool few_channels_weights_support(const ConvShape& shape, int channels) {
  return channels <= 4 && shape.channels == 4 && shape.pool == 1 && shape.positions() > 1 &&
         few_channels_weights_part(shape, channels, 1, 1, true).splits > 0;
}

namespace {

FewChannelsWeights plain_part(const ConvShape& shape, int channels, int count,
                              int multiprocessors) {
  constexpr int blocks_each = 2, positions_each = 4;
  FewChannelsWeights p{};
  p.shape = shape, p.channels = channels, p.positions = count * shape.positions();
  p.by_out = Divider(static_cast<std::uint32_t>(shape.positions()));
  p.by_out_w = Divider(static_cast<std::uint32_t>(shape.out_w));
  p.width = width_for(shape.kernel_w), p.chunks = (shape.kernel_w + p.width - 1) / p.width;
  const int parts = shape.kernel_h * p.chunks, vectors = shape.filters / 4;
  p.vectors = std::min(vectors, weight_threads / parts);
  if (p.vectors == 0) return p;
  p.tiles = (vectors + p.vectors - 1) / p.vectors, p.vectors = (vectors + p.tiles - 1) / p.tiles;
  p.sharers = parts * p.vectors, p.groups = weight_threads / p.sharers;
  p.splits = std::clamp(blocks_each * multiprocessors / p.tiles, 1,
                        std::max(1, p.positions / (p.groups * positions_each)));
  p.share = (p.positions + p.splits - 1) / p.splits;
  return p;
}

}  // namespace

FewChannelsWeights few_channels_weights_part(const ConvShape& shape, int channels, int count,
                                             int multiprocessors, bool fp32) {
  const FewChannelsWeights plain = plain_part(shape, channels, count, multiprocessors);
  FewChannelsWeights products = plain;
  products.products = true, products.fp32 = fp32;
  if (!divide_weights_products(products, multiprocessors)) return plain;
  return plain.splits > 0 && few_channels_weights_clocks(plain, multiprocessors) <
                                 weights_products_clocks(products, multiprocessors)
             ? plain
             : products;
}

// A warp's instructions for one position of each lane: its address, its taps and their products.
double few_channels_weights_clocks(const FewChannelsWeights& p, int multiprocessors) {
  if (p.products) return weights_products_clocks(p, multiprocessors);
  constexpr double start = 6000, address = 45, tap = 6, schedulers = 4, lanes = 32;
  const double each = (address + p.width * (tap + 4.0 * p.channels)) / schedulers;
  const int idle = weight_threads - p.sharers * p.groups;
  const double wasted = static_cast<double>(weight_threads) / (weight_threads - idle);
  return start + each * wasted * p.positions * p.sharers * p.tiles / lanes / multiprocessors;
}

cudaError_t launch_few_channels_weights(const FewChannelsWeights& p, cudaStream_t stream) {
  if (p.products) return launch_weights_products(p, stream);
  const auto kernel = p.channels == 1   ? kernel_of<1>(p.width)
                      : p.channels == 2 ? kernel_of<2>(p.width)
                      : p.channels == 3 ? kernel_of<3>(p.width)
                                        : kernel_of<4>(p.width);
  const int slots = p.width * p.channels + 1;
  const int bytes = slots * (p.groups / 2) * p.sharers * static_cast<int>(sizeof(float4));
  return launch(kernel, dim3(p.tiles, p.splits), weight_threads, bytes, stream, p);
}

}  // namespace sweetspot::engine::cuda
