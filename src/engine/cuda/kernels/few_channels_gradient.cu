#include <algorithm>

#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/few_channels.h"
#include "engine/cuda/kernels/lanes.cuh"

// The input gradient of a convolution over few channels, in fp32: tiles of a product would consist
// of padding. A few lanes share a position, each with its vectors of four filters, and visit only
// the taps whose strides meet it.
namespace sweetspot::engine::cuda {
namespace {

constexpr int gradient_threads = 256;
constexpr int most_lane_bits = 3, least_lane_bits = 1;
constexpr int most_shared = 96 * 1024;  // which every GPU has that the kernels are compiled for

// The lanes with the fewest idle turns; of those, the most.
int lane_bits_for(int vectors) {
  int best = most_lane_bits;
  const auto turns = [&](int bits) { return (vectors + (1 << bits) - 1) >> bits << bits; };
  for (int bits = most_lane_bits - 1; bits >= least_lane_bits; --bits)
    if (turns(bits) < turns(best)) best = bits;
  return best;
}

int shared_bytes(const ConvShape& s, int channels) {
  return s.taps() * channels * s.filters * static_cast<int>(sizeof(float));
}

__device__ float dot(float4 a, float4 b, float sum) {
  return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}

template <int channels>
__global__ void __launch_bounds__(gradient_threads)
    few_channels_gradient_kernel(const __grid_constant__ FewChannelsGradient p) {
  extern __shared__ __align__(16) float kernel[];  // (tap, channel, filter)
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w;
  const int groups = gradient_threads >> p.lane_bits, group = threadIdx.x >> p.lane_bits;
  const int lane = threadIdx.x & ((1 << p.lane_bits) - 1);
  for (int i = threadIdx.x * 4; i < taps * channels * s.filters; i += gradient_threads * 4) {
    const int row = p.by_filters.quotient(i), n = i - row * s.filters;
    const int tap = row / channels, c = row - tap * channels;
    store4(kernel + i,
           load4(p.weights + static_cast<std::int64_t>(tap * s.channels + c) * s.filters + n));
  }
  wait_for_predecessor();
  __syncthreads();
  for (int turn = 0; turn < p.turns; ++turn) {
    const std::int64_t place = (std::int64_t{blockIdx.x} * p.turns + turn) * groups + group;
    const bool real = place < p.positions;
    const int m = real ? static_cast<int>(place) : 0;
    const int sample = p.by_in.quotient(m), at = m - sample * p.by_in.divisor;
    const int line = p.by_in_w.quotient(at);
    const int y = line + s.pad_top, x = at - line * s.in_w + s.pad_left;
    const int last_y = p.by_stride_h.quotient(y), last_x = p.by_stride_w.quotient(x);
    const float* gradient = p.gradient + std::int64_t{sample} * s.out_h * s.out_w * s.filters;
    const std::uint8_t* codes =
        p.code ? p.code + std::int64_t{sample} * s.out_h * s.out_w * s.filters : nullptr;
    float sums[channels] = {};
    for (int ky = y - last_y * s.stride_h, oy = last_y; ky < s.kernel_h; ky += s.stride_h, --oy) {
      if (static_cast<unsigned>(oy) >= s.out_h) continue;
        // Without branches, so that the loads of several taps are in flight.
#pragma unroll 4
      for (int kx = x - last_x * s.stride_w, ox = last_x; kx < s.kernel_w; kx += s.stride_w, --ox) {
        const bool inside = static_cast<unsigned>(ox) < s.out_w;
        const int from = (oy * s.out_w + (inside ? ox : 0)) * s.filters;
        const float* w = kernel + (ky * s.kernel_w + kx) * channels * s.filters;
#pragma unroll 2
        for (int n = 4 * lane; n < s.filters; n += 4 << p.lane_bits) {
          float4 g = inside ? load4(gradient + from + n) : float4{};
          if (codes) g = let_through(g, *reinterpret_cast<const uchar4*>(codes + from + n));
#pragma unroll
          for (int c = 0; c < channels; ++c)
            sums[c] = dot(g, load4(w + c * s.filters + n), sums[c]);
        }
      }
    }
    constexpr int pitch = (channels + 3) / 4 * 4;
    float all[pitch] = {};
#pragma unroll
    for (int c = 0; c < channels; ++c) {
      for (int distance = 1 << p.lane_bits >> 1; distance > 0; distance /= 2)
        sums[c] += __shfl_xor_sync(0xffffffffu, sums[c], distance);
      all[c] = sums[c] * p.scale;
    }
    if (!real || lane != 0) continue;
#pragma unroll
    for (int c = 0; c < pitch; c += 4) {
      float4 v{all[c], all[c + 1], all[c + 2], all[c + 3]};
      if (p.input_function != Function::linear)
        v = through_activation(p.input_function, load4(p.input + pitch * place + c), v);
      store4(p.input_gradient + pitch * place + c, v);
    }
  }
}

}  // namespace

bool few_channels_gradient_support(const ConvShape& shape, int channels) {
  return channels <= most_gradient_channels && shape.channels < channels + 4 && shape.pool == 1 &&
         shape.taps() > 1 && shared_bytes(shape, channels) <= most_shared;
}

FewChannelsGradient few_channels_gradient_part(const ConvShape& shape, int channels, int count) {
  const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
  FewChannelsGradient p{};
  p.shape = shape, p.channels = channels;
  p.positions = std::int64_t{count} * shape.in_h * shape.in_w;
  p.by_in = by(shape.in_h * shape.in_w), p.by_in_w = by(shape.in_w);
  p.by_stride_h = by(shape.stride_h), p.by_stride_w = by(shape.stride_w);
  p.by_filters = by(shape.filters), p.lane_bits = lane_bits_for(shape.filters / 4);
  return p;
}

cudaError_t launch_few_channels_gradient(const FewChannelsGradient& part, cudaStream_t stream) {
  constexpr int blocks_each = 8, most_turns = 4;  // of a multiprocessor
  FewChannelsGradient p = part;
  const std::int64_t at_once =
      std::int64_t{blocks_each} * current_chip().multiprocessors * gradient_threads;
  // If positions are few, as many lanes as there are vectors.
  while (p.lane_bits < most_lane_bits && 4 << p.lane_bits < p.shape.filters &&
         p.positions << p.lane_bits < at_once)
    ++p.lane_bits;
  p.turns = static_cast<int>(
      std::clamp<std::int64_t>((p.positions << p.lane_bits) / at_once, 1, most_turns));
  const int rows = (gradient_threads >> p.lane_bits) * p.turns;
  const auto blocks = static_cast<int>((p.positions + rows - 1) / rows);
  constexpr decltype(&few_channels_gradient_kernel<1>) kernels[most_gradient_channels] = {
      few_channels_gradient_kernel<1>, few_channels_gradient_kernel<2>,
      few_channels_gradient_kernel<3>, few_channels_gradient_kernel<4>,
      few_channels_gradient_kernel<5>, few_channels_gradient_kernel<6>,
      few_channels_gradient_kernel<7>, few_channels_gradient_kernel<8>};
  static const cudaError_t allowed = [&] {
    for (const auto kernel : kernels)
      if (const cudaError_t error = cudaFuncSetAttribute(
              kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared);
          error != cudaSuccess)
        return error;
    return cudaSuccess;
  }();
  if (allowed != cudaSuccess) return allowed;
  return launch(kernels[p.channels - 1], blocks, gradient_threads,
                shared_bytes(p.shape, p.channels), stream, p);
}

}  // namespace sweetspot::engine::cuda
