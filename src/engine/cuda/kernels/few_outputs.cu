#include <algorithm>

#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/few_outputs.h"
#include "engine/cuda/kernels/few_outputs_epilogue.cuh"
#include "engine/cuda/kernels/lanes.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// Tiles of a product would consist of padding. A few lanes share positions and divide the depth of
// each tap; a thread has several positions, so that all of them use what it reads of the kernel,
// from shared memory.
namespace sweetspot::engine::cuda {
namespace {

constexpr int output_threads = 256, most_positions = 4;
constexpr int most_lane_bits = 3;
constexpr int shared_floats = 12 * 1024;
constexpr int outside = -30000;  // a row that no tap brings into the image

// Kernels are compiled for two, four and eight outputs.
int computed(int outputs) { return outputs <= 2 ? 2 : outputs <= 4 ? 4 : 8; }

// The most lanes of which at most a fifth is idle: what a few read of a position at a time is less
// than a line of memory.
int lane_bits_for(int vectors) {
  const auto turns = [&](int bits) { return (vectors + (1 << bits) - 1) >> bits << bits; };
  int bits = most_lane_bits;
  while (bits > 0 && 4 * turns(bits) > 5 * vectors) --bits;
  return bits;
}

// So much of the depth that its kernels fit, in equal parts; 0 if that is too little.
int chunk_for(int depth, int taps, int outputs) {
  constexpr int step = 4 << most_lane_bits, least = 16;
  const int fit = shared_floats / (taps * computed(outputs)) / 4 * 4;
  if (depth <= fit) return depth;
  if (fit < least) return 0;
  const int most = fit < step ? fit : fit / step * step;
  const int chunks = (depth + most - 1) / most, even = (depth + chunks - 1) / chunks;
  return std::min(most, (even + step - 1) / step * step);
}

__device__ float dot(float4 a, float4 b, float sum) {
  return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}

// (tap, output, depth) in shared memory, from `first` of the depth on.
template <int outputs, bool gradient>
__device__ void load_kernels(const FewOutputs& p, int first, float* to) {
  const int taps = p.kernel_h * p.kernel_w;
  if constexpr (gradient) {
    const int vectors = taps * outputs * (p.chunk / 4);
    for (int i = threadIdx.x; i < vectors; i += output_threads) {
      const int row = p.by_chunk.quotient(4 * i), n = first + 4 * i - row * p.chunk;
      const int tap = row / outputs, o = row - tap * outputs;
      const std::int64_t from = (std::int64_t{taps - 1 - tap} * p.pitch + o) * p.depth + n;
      store4(to + 4 * i, o < p.outputs && n < p.depth ? load4(p.weights + from) : float4{});
    }
  } else {
    for (int i = threadIdx.x; i < taps * p.chunk; i += output_threads) {
      const int tap = p.by_chunk.quotient(i), c = i - tap * p.chunk, n = first + c;
      const float* from = p.weights + (std::int64_t{tap} * p.depth + n) * p.pitch;
#pragma unroll
      for (int o = 0; o < outputs; ++o)
        to[(tap * outputs + o) * p.chunk + c] = o < p.outputs && n < p.depth ? from[o] : 0.f;
    }
  }
}

template <int outputs, bool gradient, int few_positions>
__global__ void __launch_bounds__(output_threads, 2)
    few_outputs_kernel(const __grid_constant__ FewOutputs p) {
  extern __shared__ __align__(16) float kernel[];
  const int groups = output_threads >> p.lane_bits, group = threadIdx.x >> p.lane_bits;
  const int lane = threadIdx.x & ((1 << p.lane_bits) - 1);
  load_kernels<outputs, gradient>(p, 0, kernel);
  const auto position = [&](int i) {
    return (std::int64_t{blockIdx.x} * few_positions + i) * groups + group;
  };
  int line[few_positions], column[few_positions];
  std::int64_t corner[few_positions];  // in floats
#pragma unroll
  for (int i = 0; i < few_positions; ++i) {
    const bool real = position(i) < p.positions;
    const int m = real ? static_cast<int>(position(i)) : 0;
    const int sample = p.by_out.quotient(m), at = m - sample * p.by_out.divisor;
    const int y = p.by_out_w.quotient(at), x = at - y * p.out_w;
    line[i] = real ? y * p.stride_h - p.pad_top : outside;
    column[i] = x * p.stride_w - p.pad_left;
    corner[i] =
        (std::int64_t{sample * p.in_h + y * p.stride_h - p.pad_top} * p.in_w + column[i]) * p.depth;
  }
  float sums[few_positions][outputs] = {};
  wait_for_predecessor();
  for (int first = 0; first < p.depth; first += p.chunk) {
    if (first > 0) {
      __syncthreads();
      load_kernels<outputs, gradient>(p, first, kernel);
    }
    __syncthreads();
    const int end = min(p.chunk, p.depth - first);
    const float* w = kernel;
    for (int ky = 0; ky < p.kernel_h; ++ky)
      for (int kx = 0; kx < p.kernel_w; ++kx, w += outputs * p.chunk) {
        bool inside[few_positions];
#pragma unroll
        for (int i = 0; i < few_positions; ++i)
          inside[i] = static_cast<unsigned>(line[i] + ky) < p.in_h &&
                      static_cast<unsigned>(column[i] + kx) < p.in_w;
        const int tap = (ky * p.in_w + kx) * p.depth + first;
        for (int n = 4 * lane; n < end; n += 4 << p.lane_bits) {
          float4 x[few_positions];
#pragma unroll
          for (int i = 0; i < few_positions; ++i) {
            const std::int64_t from = corner[i] + tap + n;
            x[i] = inside[i] ? load4(p.input + from) : float4{};
            if constexpr (gradient)
              if (p.let_through && inside[i])
                x[i] = let_through(x[i], *reinterpret_cast<const uchar4*>(p.let_through + from));
          }
#pragma unroll
          for (int o = 0; o < outputs; ++o) {
            const float4 each = load4(w + o * p.chunk + n);
#pragma unroll
            for (int i = 0; i < few_positions; ++i) sums[i][o] = dot(x[i], each, sums[i][o]);
          }
        }
      }
  }
#pragma unroll
  for (int i = 0; i < few_positions; ++i)
#pragma unroll
    for (int o = 0; o < outputs; ++o)
      for (int distance = 1 << p.lane_bits >> 1; distance > 0; distance /= 2)
        sums[i][o] += __shfl_xor_sync(0xffffffffu, sums[i][o], distance);
#pragma unroll
  for (int i = 0; i < few_positions; ++i) {
    if (line[i] == outside || lane != (i & ((1 << p.lane_bits) - 1))) continue;
#pragma unroll
    for (int o = 0; o < (outputs + 3) / 4 * 4; o += 4) {
      if (o >= p.pitch) continue;
      float v[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) v[e] = o + e < outputs ? sums[i][o + e < outputs ? o + e : 0] : 0;
      const std::int64_t at = position(i) * p.pitch + o;
      if constexpr (gradient)
        finish_gradient(p, at, o, v);
      else
        finish_value(p, at, o, v);
    }
  }
}

template <int outputs, int positions>
auto kernel_of(bool gradient) {
  return gradient ? few_outputs_kernel<outputs, true, positions>
                  : few_outputs_kernel<outputs, false, positions>;
}
template <int positions>
auto kernel_of(int outputs, bool gradient) {
  return outputs <= 2   ? kernel_of<2, positions>(gradient)
         : outputs <= 4 ? kernel_of<4, positions>(gradient)
                        : kernel_of<8, positions>(gradient);
}

}  // namespace

bool few_outputs_support(const ConvShape& s, int outputs, bool gradient) {
  const int depth = gradient ? s.filters : s.channels, pitch = gradient ? s.channels : s.filters;
  return outputs <= most_outputs && pitch < outputs + 4 && s.pool == 1 && s.positions() > 1 &&
         (!gradient || (s.stride_h == 1 && s.stride_w == 1)) &&
         chunk_for(depth, s.taps(), outputs) > 0;
}

FewOutputs few_outputs_part(const ConvShape& s, int outputs, int count, bool gradient) {
  FewOutputs p{};
  p.gradient = gradient, p.outputs = outputs;
  p.kernel_h = s.kernel_h, p.kernel_w = s.kernel_w;
  p.stride_h = s.stride_h, p.stride_w = s.stride_w;
  if (gradient) {
    p.in_h = s.out_h, p.in_w = s.out_w, p.depth = s.filters;
    p.out_h = s.in_h, p.out_w = s.in_w, p.pitch = s.channels;
    p.pad_top = s.kernel_h - 1 - s.pad_top, p.pad_left = s.kernel_w - 1 - s.pad_left;
  } else {
    p.in_h = s.in_h, p.in_w = s.in_w, p.depth = s.channels;
    p.out_h = s.out_h, p.out_w = s.out_w, p.pitch = s.filters;
    p.pad_top = s.pad_top, p.pad_left = s.pad_left;
  }
  const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
  p.positions = std::int64_t{count} * p.out_h * p.out_w;
  p.by_out = by(p.out_h * p.out_w), p.by_out_w = by(p.out_w);
  p.chunk = chunk_for(p.depth, s.taps(), outputs), p.by_chunk = by(p.chunk);
  p.lane_bits = lane_bits_for(p.chunk / 4);
  return p;
}

// A warp's instructions: for each vector of the depth the loads and the products of four positions,
// and what every tap and the end take.
double few_outputs_clocks(const FewOutputs& p, int multiprocessors) {
  constexpr double tap = 30, end = 300, vector = 16, stalls = 1.4, schedulers = 4;
  const int outputs = computed(p.outputs), taps = p.kernel_h * p.kernel_w;
  const int turns = ((p.depth / 4 + (1 << p.lane_bits) - 1) >> p.lane_bits);
  const double each = taps * (tap + turns * (vector + 17.0 * outputs)) + end;
  const double warps = static_cast<double>(p.positions) / most_positions * (1 << p.lane_bits) / 32;
  return 6000 + stalls * warps * each / schedulers / multiprocessors;
}

cudaError_t launch_few_outputs(const FewOutputs& part, cudaStream_t stream) {
  FewOutputs p = part;
  constexpr int busy = 4;  // blocks of a multiprocessor
  const auto blocks_of = [&](int each) {
    const int rows = (output_threads >> p.lane_bits) * each;
    return (p.positions + rows - 1) / rows;
  };
  const int enough = busy * current_chip().multiprocessors;
  // If positions are few, as many lanes as there are vectors, and one position each.
  const bool few = blocks_of(most_positions) < enough;
  while (few && p.lane_bits < most_lane_bits && 4 << p.lane_bits < p.chunk && blocks_of(1) < enough)
    ++p.lane_bits;
  const int floats = p.kernel_h * p.kernel_w * computed(p.outputs) * p.chunk;
  return launch(
      few ? kernel_of<1>(p.outputs, p.gradient) : kernel_of<most_positions>(p.outputs, p.gradient),
      static_cast<int>(blocks_of(few ? 1 : most_positions)), output_threads,
      floats * static_cast<int>(sizeof(float)), stream, p);
}

}  // namespace sweetspot::engine::cuda
