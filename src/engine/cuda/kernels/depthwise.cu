#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/each.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/kernels/vectors.cuh"

// Convolutions with a filter for each channel: four channels a thread, so that loads are 16 bytes
// wide.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = each_threads;

// Outputs side by side that a thread computes, with each tap's weights loaded once.
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

__global__ void __launch_bounds__(threads)
    depthwise_data_kernel(const __grid_constant__ DepthwisePass d) {
  wait_for_predecessor();
  const int fours = d.in.pitch / 4;
  EACH(i, std::int64_t{d.count} * d.in.height * d.in.width * fours) {
    const int c = static_cast<int>(i % fours) * 4;
    std::int64_t rest = i / fours;
    const int x = static_cast<int>(rest % d.in.width) + d.pad_left;
    rest /= d.in.width;
    const int y = static_cast<int>(rest % d.in.height) + d.pad_top;
    const std::int64_t sample = rest / d.in.height;
    const float* from = d.gradient + sample * d.out.floats() + c;
    float4 sum{};
    for (int ky = y % d.stride_h; ky < d.kernel_h && ky <= y; ky += d.stride_h) {
      const int oy = (y - ky) / d.stride_h;
      if (oy >= d.out.height) continue;
      for (int kx = x % d.stride_w; kx < d.kernel_w && kx <= x; kx += d.stride_w) {
        const int ox = (x - kx) / d.stride_w;
        if (ox < d.out.width)
          sum = sum + load4(d.weights + (ky * d.kernel_w + kx) * d.in.pitch + c) *
                          load4(from + (std::int64_t{oy} * d.out.width + ox) * d.out.pitch);
      }
    }
    store4(d.input_gradient + 4 * i, sum);
  }
}

// A block has some channels, some taps and a split of the outputs; its threads take turns at those,
// and their sums are added in order.
constexpr int taps_at_once = 9;
struct Division {
  int lanes, lane_groups, tap_groups, rows;  // lanes: fours of channels side by side
};
__host__ __device__ Division divided(const DepthwisePass& d) {
  Division n{};
  const int fours = d.out.pitch / 4;
  n.lanes = 1;
  while (n.lanes < 32 && n.lanes < fours) n.lanes *= 2;
  n.lane_groups = (fours + n.lanes - 1) / n.lanes;
  n.tap_groups = (d.taps() + taps_at_once - 1) / taps_at_once;
  n.rows = threads / n.lanes;
  return n;
}

__global__ void __launch_bounds__(threads)
    depthwise_weights_kernel(const __grid_constant__ DepthwisePass d) {
  __shared__ float4 sums[threads];
  wait_for_predecessor();
  const Division n = divided(d);
  int rest = blockIdx.x;
  const int tap0 = rest % n.tap_groups * taps_at_once;
  rest /= n.tap_groups;
  const int lane = threadIdx.x % n.lanes, row = threadIdx.x / n.lanes;
  const int c = (rest % n.lane_groups * n.lanes + lane) * 4, split = rest / n.lane_groups;
  const bool real = c < d.out.pitch;
  const int taps = min(taps_at_once, d.taps() - tap0);
  float4 sum[taps_at_once + 1];  // the last is the bias's
#pragma unroll
  for (int t = 0; t <= taps_at_once; ++t) sum[t] = {};
  const std::int64_t outputs = std::int64_t{d.count} * d.out.height * d.out.width;
  const std::int64_t begin = outputs * split / d.splits, end = outputs * (split + 1) / d.splits;
  for (std::int64_t o = begin + row; real && o < end; o += n.rows) {
    const std::int64_t line = o / d.out.width, sample = line / d.out.height;
    const int top = static_cast<int>(line - sample * d.out.height) * d.stride_h - d.pad_top;
    const int left = static_cast<int>(o - line * d.out.width) * d.stride_w - d.pad_left;
    const float4 g = load4(d.gradient + o * d.out.pitch + c);
    const float* from = d.input + sample * d.in.floats() + c;
    sum[taps_at_once] = sum[taps_at_once] + g;
#pragma unroll
    for (int t = 0; t < taps_at_once; ++t) {
      if (t >= taps) break;
      const int y = top + (tap0 + t) / d.kernel_w, x = left + (tap0 + t) % d.kernel_w;
      if (y >= 0 && y < d.in.height && x >= 0 && x < d.in.width)
        sum[t] = sum[t] + g * load4(from + (std::int64_t{y} * d.in.width + x) * d.in.pitch);
    }
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

// About four blocks a multiprocessor, and each thread some outputs.
int depthwise_splits(const DepthwisePass& d, std::int64_t count, int multiprocessors) {
  const Division n = divided(d);
  const std::int64_t outputs = count * d.out.height * d.out.width;
  return static_cast<int>(
      std::clamp<std::int64_t>(4 * multiprocessors / (n.lane_groups * n.tap_groups), 1,
                               std::max<std::int64_t>(1, outputs / (4 * n.rows))));
}

cudaError_t launch_depthwise(const DepthwisePass& d, cudaStream_t stream) {
  const std::int64_t runs = (d.out.width + side_by_side - 1) / side_by_side;
  return launch(depthwise_kernel,
                blocks_for(std::int64_t{d.count} * d.out.height * runs * (d.out.pitch / 4)),
                threads, 0, stream, d);
}

cudaError_t launch_depthwise_backward(const DepthwisePass& d, cudaStream_t stream) {
  if (d.relu)
    if (const cudaError_t error =
            launch(mask_kernel, blocks_for(std::int64_t{d.count} * d.out.floats() / 4), threads, 0,
                   stream, d))
      return error;
  const Division n = divided(d);
  if (const cudaError_t error = launch(
          depthwise_weights_kernel, n.tap_groups * n.lane_groups * d.splits, threads, 0, stream, d))
    return error;
  if (!d.input_gradient) return cudaSuccess;
  return launch(depthwise_data_kernel,
                blocks_for(std::int64_t{d.count} * d.in.height * d.in.width * (d.in.pitch / 4)),
                threads, 0, stream, d);
}

}  // namespace sweetspot::engine::cuda
