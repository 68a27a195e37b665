#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/each.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/kernels/vectors.cuh"

// Convolutions with one filter per channel: four channels per thread, so that loads are 16 bytes
// wide.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = each_threads;

// Adjacent outputs that a thread computes, with each tap's weights loaded once.
constexpr int side_by_side = 4;

__global__ void __launch_bounds__(threads)
    depthwise_kernel(const __grid_constant__ DepthwisePass d) {
  wait_for_predecessor();
  const int fours = d.out.pitch / 4, runs = (d.out.width + side_by_side - 1) / side_by_side;
  EACH(i, std::int64_t{d.count} * d.out.height * runs * fours) {
    const int c = static_cast<int>(i % fours) * 4;
    std::int64_t rest = i / fours;
    const int x = static_cast<int>(rest % runs) * side_by_side;
    rest /= runs;
    const int y = static_cast<int>(rest % d.out.height);
    const std::int64_t sample = rest / d.out.height;
    const int top = y * d.stride_h - d.pad_top, left = x * d.stride_w - d.pad_left;
    const float* from = d.input + sample * d.in.floats() + c;
    float4 sum[side_by_side];
    const float4 bias = d.bias ? load4(d.bias + c) : float4{};
#pragma unroll
    for (int k = 0; k < side_by_side; ++k) sum[k] = bias;
    for (int ky = max(0, -top); ky < min(d.kernel_h, d.in.height - top); ++ky) {
      const float* line = from + std::int64_t{top + ky} * d.in.width * d.in.pitch;
      for (int kx = 0; kx < d.kernel_w; ++kx) {
        const float4 w = load4(d.weights + (ky * d.kernel_w + kx) * d.in.pitch + c);
#pragma unroll
        for (int k = 0; k < side_by_side; ++k) {
          const int at = left + k * d.stride_w + kx;
          if (at >= 0 && at < d.in.width)
            sum[k] = sum[k] + w * load4(line + std::int64_t{at} * d.in.pitch);
        }
      }
    }
    float* to = d.output + ((sample * d.out.height + y) * d.out.width + x) * d.out.pitch + c;
#pragma unroll
    for (int k = 0; k < side_by_side; ++k) {
      if (x + k >= d.out.width) break;
      float4 s = sum[k];
      if (d.relu) s = {rectified(s.x), rectified(s.y), rectified(s.z), rectified(s.w)};
      store4(to + k * d.out.pitch, s);
    }
  }
}

__global__ void mask_kernel(const __grid_constant__ DepthwisePass d) {
  wait_for_predecessor();
  EACH(i, std::int64_t{d.count} * d.out.floats() / 4) {
    const float4 y = load4(d.output + 4 * i);
    float4 g = load4(d.gradient + 4 * i);
    g = {y.x > 0 ? g.x : 0.f, y.y > 0 ? g.y : 0.f, y.z > 0 ? g.z : 0.f, y.w > 0 ? g.w : 0.f};
    store4(d.gradient + 4 * i, g);
  }
}

// A block has up to 32 groups of four channels, and its threads iterate over the positions.
struct Lanes {
  int lanes, groups, rows;
};
__host__ __device__ Lanes lanes_of(int pitch) {
  Lanes n{};
  const int fours = pitch / 4;
  n.lanes = 1;
  while (n.lanes < 32 && n.lanes < fours) n.lanes *= 2;
  n.groups = (fours + n.lanes - 1) / n.lanes, n.rows = threads / n.lanes;
  return n;
}

__global__ void __launch_bounds__(threads)
    depthwise_data_kernel(const __grid_constant__ DepthwisePass d) {
  wait_for_predecessor();
  const Lanes n = lanes_of(d.in.pitch);
  const int c = (blockIdx.y * n.lanes + threadIdx.x % n.lanes) * 4;
  if (c >= d.in.pitch) return;
  const int positions = d.count * d.in.height * d.in.width;
  for (int i = blockIdx.x * n.rows + threadIdx.x / n.lanes; i < positions;
       i += gridDim.x * n.rows) {
    const int line = d.by_in_width.quotient(i), sample = d.by_in_height.quotient(line);
    const int x = i - line * d.in.width + d.pad_left;
    const int y = line - sample * d.in.height + d.pad_top;
    const float* from = d.gradient + std::int64_t{sample} * d.out.floats() + c;
    float4 sum{};
    const int first_y = d.stride_h == 1 ? 0 : y % d.stride_h;
    const int first_x = d.stride_w == 1 ? 0 : x % d.stride_w;
    for (int ky = first_y; ky < d.kernel_h && ky <= y; ky += d.stride_h) {
      const int oy = d.stride_h == 1 ? y - ky : (y - ky) / d.stride_h;
      if (oy >= d.out.height) continue;
      for (int kx = first_x; kx < d.kernel_w && kx <= x; kx += d.stride_w) {
        const int ox = d.stride_w == 1 ? x - kx : (x - kx) / d.stride_w;
        if (ox < d.out.width)
          sum = sum + load4(d.weights + (ky * d.kernel_w + kx) * d.in.pitch + c) *
                          load4(from + (oy * d.out.width + ox) * d.out.pitch);
      }
    }
    store4(d.input_gradient + std::int64_t{i} * d.in.pitch + c, sum);
  }
}

// A block has some channels, some taps and a split of the outputs; its threads iterate over those,
// and their sums are added in order.
constexpr int taps_at_once = 9;
__host__ __device__ int tap_groups(const DepthwisePass& d) {
  return (d.taps() + taps_at_once - 1) / taps_at_once;
}

__global__ void __launch_bounds__(threads)
    depthwise_weights_kernel(const __grid_constant__ DepthwisePass d) {
  __shared__ float4 sums[threads];
  wait_for_predecessor();
  const Lanes n = lanes_of(d.out.pitch);
  const int groups = tap_groups(d), split = blockIdx.x / groups;
  const int tap0 = (blockIdx.x - split * groups) * taps_at_once;
  const int lane = threadIdx.x % n.lanes, row = threadIdx.x / n.lanes;
  const int c = (blockIdx.y * n.lanes + lane) * 4;
  const bool real = c < d.out.pitch;
  const int taps = min(taps_at_once, d.taps() - tap0);
  int tap_y[taps_at_once], tap_x[taps_at_once];
#pragma unroll
  for (int t = 0; t < taps_at_once; ++t) {
    tap_y[t] = (tap0 + t) / d.kernel_w, tap_x[t] = tap0 + t - tap_y[t] * d.kernel_w;
    if (t >= taps) tap_y[t] = -(1 << 20);  // outside every image
  }
  float4 sum[taps_at_once + 1];  // the last is the bias
#pragma unroll
  for (int t = 0; t <= taps_at_once; ++t) sum[t] = {};
  const std::int64_t outputs = std::int64_t{d.count} * d.out.height * d.out.width;
  const auto begin = static_cast<int>(outputs * split / d.splits);
  const auto end = static_cast<int>(outputs * (split + 1) / d.splits);
  for (int o = begin + row; real && o < end; o += n.rows) {
    const int line = d.by_out_width.quotient(o), sample = d.by_out_height.quotient(line);
    const int top = (line - sample * d.out.height) * d.stride_h - d.pad_top;
    const int left = (o - line * d.out.width) * d.stride_w - d.pad_left;
    const float4 g = load4(d.gradient + std::int64_t{o} * d.out.pitch + c);
    const float* from = d.input + std::int64_t{sample} * d.in.floats() + c;
    float4 x[taps_at_once];
#pragma unroll
    for (int t = 0; t < taps_at_once; ++t) {
      const int y = top + tap_y[t], at = left + tap_x[t];
      const bool inside =
          static_cast<unsigned>(y) < d.in.height && static_cast<unsigned>(at) < d.in.width;
      x[t] = inside ? load4(from + (y * d.in.width + at) * d.in.pitch) : float4{};
    }
    sum[taps_at_once] = sum[taps_at_once] + g;
#pragma unroll
    for (int t = 0; t < taps_at_once; ++t) sum[t] = sum[t] + g * x[t];
  }
  float* to = d.partials + split * d.partial_stride + c;
#pragma unroll
  for (int t = 0; t <= taps_at_once; ++t) {
    const bool bias = t == taps_at_once;
    if (bias ? tap0 > 0 || !d.bias : t >= taps) continue;
    __syncthreads();
    sums[threadIdx.x] = sum[t];
    __syncthreads();
    if (row > 0 || !real) continue;
    float4 total = sum[t];
    for (int other = 1; other < n.rows; ++other) total = total + sums[other * n.lanes + lane];
    store4(to + (bias ? d.taps() : tap0 + t) * d.out.pitch, total);
  }
}

}  // namespace

// About four blocks per multiprocessor, and each thread some outputs.
int depthwise_splits(const DepthwisePass& d, std::int64_t count, int multiprocessors) {
  const Lanes n = lanes_of(d.out.pitch);
  const std::int64_t outputs = count * d.out.height * d.out.width;
  return static_cast<int>(
      std::clamp<std::int64_t>(4 * multiprocessors / (n.groups * tap_groups(d)), 1,
                               std::max<std::int64_t>(1, outputs / (4 * n.rows))));
}

cudaError_t launch_depthwise(const DepthwisePass& d, cudaStream_t stream) {
  const std::int64_t runs = (d.out.width + side_by_side - 1) / side_by_side;
  return launch(depthwise_kernel,
                blocks_for(std::int64_t{d.count} * d.out.height * runs * (d.out.pitch / 4)),
                threads, 0, stream, d);
}

cudaError_t launch_depthwise_mask(const DepthwisePass& d, cudaStream_t stream) {
  return launch(mask_kernel, blocks_for(std::int64_t{d.count} * d.out.floats() / 4), threads, 0,
                stream, d);
}
cudaError_t launch_depthwise_weights(const DepthwisePass& d, cudaStream_t stream) {
  return launch(depthwise_weights_kernel,
                dim3(tap_groups(d) * d.splits, lanes_of(d.out.pitch).groups), threads, 0, stream,
                d);
}
cudaError_t launch_depthwise_data(const DepthwisePass& d, cudaStream_t stream) {
  const Lanes in = lanes_of(d.in.pitch);
  constexpr std::int64_t most_blocks = 1 << 14;
  const std::int64_t positions = std::int64_t{d.count} * d.in.height * d.in.width;
  const auto blocks =
      static_cast<unsigned>(std::min((positions + in.rows - 1) / in.rows, most_blocks));
  return launch(depthwise_data_kernel, dim3(blocks, in.groups), threads, 0, stream, d);
}

}  // namespace sweetspot::engine::cuda
