#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/math.cuh"

// A first convolution has one to three channels: too little depth for the tensor cores to pay, and
// samples that lie as bytes in the data set. One pass reads the bytes, convolves, adds the bias,
// rectifies and pools; the backward pass reads the bytes again and visits the windows' winners
// only, a quarter of the positions.
namespace sweetspot::engine::cuda {
namespace {

constexpr int forward_threads = 256, backward_threads = 256;
constexpr int filters_at_once = 8;
constexpr int strip_floats = 4096;  // of the image in shared memory: 16 KiB

// A sample is worked through in strips of pooled lines.
struct Strips {
  int lines, count;  // pooled lines of one, and how many
  __host__ __device__ Strips(const ConvShape& s) {
    const int line = s.in_w * s.channels, pooled = s.out_h / 2;
    lines = (strip_floats / line - s.kernel_h + 1) / 2;
    lines = lines < 1 ? 1 : lines > pooled ? pooled : lines;
    count = (pooled + lines - 1) / lines;
  }
};

// A warp takes a line at a time.
template <int C, bool rounded = false>
__device__ void load_strip(const FirstConv& p, int sample, int first_line, int lines, float* to) {
  const int line = p.shape.in_w * C, full = p.full_w * C;
  const std::int64_t from = (std::int64_t{p.source.row(sample)} * p.full_h + first_line) * full;
  for (int y = threadIdx.x / 32; y < lines; y += blockDim.x / 32)
#pragma unroll 4
    for (int x = threadIdx.x % 32; x < line; x += 32) {
      const std::int64_t at = from + y * full + x;
      const float v = p.source.bytes ? p.source.bytes[at] * (1.f / 255) : p.source.floats[at];
      to[y * line + x] = rounded ? Tf32::round(v) : v;
    }
}

template <int KH, int KW, int C>
__global__ void __launch_bounds__(forward_threads, 2) forward(const __grid_constant__ FirstConv p) {
  extern __shared__ __align__(16) float shared[];
  wait_for_predecessor();
  const ConvShape& s = p.shape;
  const Strips strips(s);
  const int share = p.filter_blocks, filters = s.filters / share;  // of this block
  const int f_first = blockIdx.x % share * filters;
  const int strip = blockIdx.x / share % strips.count, sample = blockIdx.x / share / strips.count;
  const int width = s.out_w / 2, first = strip * strips.lines;
  const int lines = min(strips.lines, s.out_h / 2 - first), pitch = s.in_w * C;
  float* weights = shared;  // (taps, channels, filters of this block)
  float* image = shared + KH * KW * C * filters;
  for (int i = threadIdx.x; i < KH * KW * C * filters; i += blockDim.x)
    weights[i] = p.weights[i / filters * s.filters + f_first + i % filters];
  load_strip<C>(p, sample, 2 * first, 2 * lines + KH - 1, image);
  __syncthreads();

  const int windows = lines * width;
  for (int item = threadIdx.x; item < windows * (filters / filters_at_once); item += blockDim.x) {
    const int group = item / windows, window = item - group * windows;
    const int py = window / width, px = window - py * width;
    const int f0 = f_first + group * filters_at_once;
    float patch[KH + 1][(KW + 1) * C];
#pragma unroll
    for (int y = 0; y <= KH; ++y)
#pragma unroll
      for (int x = 0; x < (KW + 1) * C; ++x)
        patch[y][x] = image[(2 * py + y) * pitch + 2 * px * C + x];
    float sums[4][filters_at_once] = {};
#pragma unroll
    for (int ky = 0; ky < KH; ++ky)
#pragma unroll
      for (int kx = 0; kx < KW * C; ++kx) {
        float w[filters_at_once];
#pragma unroll
        for (int f = 0; f < filters_at_once; f += 4)
          *reinterpret_cast<float4*>(w + f) = *reinterpret_cast<const float4*>(
              weights + (ky * KW * C + kx) * filters + group * filters_at_once + f);
#pragma unroll
        for (int slot = 0; slot < 4; ++slot)
#pragma unroll
          for (int f = 0; f < filters_at_once; ++f)
            sums[slot][f] += patch[ky + slot / 2][kx + slot % 2 * C] * w[f];
      }
    const std::int64_t at =
        (std::int64_t{sample} * (s.out_h / 2 * width) + first * width + window) * s.filters + f0;
    float value[filters_at_once];
    std::uint8_t code[filters_at_once];
#pragma unroll
    for (int f = 0; f < filters_at_once; ++f) {
      float best = sums[0][f];
      code[f] = 0;
#pragma unroll
      for (int slot = 1; slot < 4; ++slot)
        if (beats(sums[slot][f], best)) best = sums[slot][f], code[f] = slot;
      best += p.bias ? p.bias[f0 + f] : 0.f;
      if (p.relu) best = rectified(best), code[f] = best == 0 ? no_gradient : code[f];
      value[f] = best;
    }
#pragma unroll
    for (int f = 0; f < filters_at_once; f += 4) {
      *reinterpret_cast<float4*>(p.value + at + f) = *reinterpret_cast<const float4*>(value + f);
      if (p.code)
        *reinterpret_cast<uchar4*>(p.code + at + f) = {code[f], code[f + 1], code[f + 2],
                                                       code[f + 3]};
    }
  }
}

// The same on the tensor cores in tf32, for every precision but fp32. A warp takes eight windows at
// a time, whose four positions are rows g, g+8, g+16 and g+24 of its tile, and keeps the weights of
// 32 filters in registers.
template <int KH, int KW, int C>
__global__ void __launch_bounds__(forward_threads, 4)
    tensor_forward(const __grid_constant__ FirstConv p) {
  extern __shared__ __align__(16) float shared[];
  constexpr int taps = KH * KW * C, steps = (taps + 7) / 8;
  wait_for_predecessor();
  const ConvShape& s = p.shape;
  const Strips strips(s);
  const int part = blockIdx.x % p.filter_blocks;  // of the windows
  const int strip = blockIdx.x / p.filter_blocks % strips.count;
  const int sample = blockIdx.x / p.filter_blocks / strips.count;
  const int width = s.out_w / 2, first = strip * strips.lines;
  const int lines = min(strips.lines, s.out_h / 2 - first), pitch = s.in_w * C;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, windows = lines * width;
  load_strip<C, true>(p, sample, 2 * first, 2 * lines + KH - 1, shared);
  int tap_offset[steps][2];
#pragma unroll
  for (int k = 0; k < 2 * steps; ++k) {
    const int tap = 4 * k + t;
    tap_offset[k / 2][k % 2] = tap < taps ? tap / (KW * C) * pitch + tap % (KW * C) : 0;
  }
  for (int f0 = 0; f0 < s.filters; f0 += 32) {
    float right[4][steps][2], bias[4][2];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int k = 0; k < 2 * steps; ++k) {
        const int tap = 4 * k + t;
        right[j][k / 2][k % 2] =
            tap < taps ? Tf32::round(p.weights[tap * s.filters + f0 + 8 * j + g]) : 0.f;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) bias[j][e] = p.bias ? p.bias[f0 + 8 * j + 2 * t + e] : 0.f;
    }
    __syncthreads();
    for (int group = threadIdx.x / 32 + part * (forward_threads / 32); group * 8 < windows;
         group += p.filter_blocks * (forward_threads / 32)) {
      const int window = min(group * 8 + g, windows - 1);
      const int py = window / width, px = window - py * width;
      const float* corner = shared + 2 * py * pitch + 2 * px * C;
      Sums sums{};
#pragma unroll
      for (int k = 0; k < steps; ++k)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float left[4];
#pragma unroll
          for (int r = 0; r < 4; ++r)
            left[r] = corner[i * pitch + r % 2 * C + tap_offset[k][r / 2]];
#pragma unroll
          for (int j = 0; j < 4; ++j) Tf32::step(left, right[j][k], sums[i][j]);
        }
      if (group * 8 + g >= windows) continue;
      const std::int64_t at =
          (std::int64_t{sample} * (s.out_h / 2 * width) + first * width + window) * s.filters + f0 +
          2 * t;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float value[2];
        std::uint8_t code[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float best = sums[0][j][e];
          code[e] = 0;
#pragma unroll
          for (int slot = 1; slot < 4; ++slot) {
            const float v = sums[slot / 2][j][slot % 2 * 2 + e];
            if (beats(v, best)) best = v, code[e] = slot;
          }
          best += bias[j][e];
          if (p.relu) best = rectified(best), code[e] = best == 0 ? no_gradient : code[e];
          value[e] = best;
        }
        *reinterpret_cast<float2*>(p.value + at + 8 * j) = {value[0], value[1]};
        if (p.code) *reinterpret_cast<uchar2*>(p.code + at + 8 * j) = {code[0], code[1]};
      }
    }
  }
}

// A thread has one filter and every so-many-th window, and keeps all of its filter's taps.
template <int KH, int KW, int C>
__global__ void __launch_bounds__(backward_threads) backward(const __grid_constant__ FirstConv p) {
  extern __shared__ __align__(16) float shared[];
  wait_for_predecessor();
  constexpr int taps = KH * KW * C;
  const ConvShape& s = p.shape;
  const Strips strips(s);
  const int width = s.out_w / 2, pitch = s.in_w * C, windows = s.out_h / 2 * width;
  const int f = threadIdx.x % s.filters, apart = blockDim.x / s.filters;
  float sums[taps] = {}, bias = 0;
  const int part = blockIdx.x % p.window_parts;  // of the windows of a sample
  for (int sample = blockIdx.x / p.window_parts; sample < p.count;
       sample += p.splits / p.window_parts)
    for (int strip = 0; strip < strips.count; ++strip) {
      const int first = strip * strips.lines, lines = min(strips.lines, s.out_h / 2 - first);
      __syncthreads();
      load_strip<C>(p, sample, 2 * first, 2 * lines + KH - 1, shared);
      __syncthreads();
      const std::int64_t from = (std::int64_t{sample} * windows + first * width) * s.filters + f;
#pragma unroll 4
      for (int window = threadIdx.x / s.filters + part * apart; window < lines * width;
           window += apart * p.window_parts) {
        float g = p.gradient[from + window * s.filters];
        const int code = p.code[from + window * s.filters];
        const int slot = code & 3;
        g = code == no_gradient ? 0.f : g;
        bias += g;
        const int py = window / width, px = window - py * width;
        const float* corner = shared + (2 * py + slot / 2) * pitch + (2 * px + slot % 2) * C;
#pragma unroll
        for (int ky = 0; ky < KH; ++ky)
#pragma unroll
          for (int kx = 0; kx < KW * C; ++kx) sums[ky * KW * C + kx] += g * corner[ky * pitch + kx];
      }
    }
  __syncthreads();
#pragma unroll
  for (int tap = 0; tap < taps; ++tap) shared[tap * backward_threads + threadIdx.x] = sums[tap];
  shared[taps * backward_threads + threadIdx.x] = bias;
  __syncthreads();
  float* to = p.partials + blockIdx.x * p.partial_stride;
  for (int i = threadIdx.x; i < (taps + (p.bias != nullptr)) * s.filters; i += blockDim.x) {
    const int tap = i / s.filters, filter = i - tap * s.filters;
    float sum = 0;
    for (int part = 0; part < apart; ++part)
      sum += shared[tap * backward_threads + part * s.filters + filter];
    to[i] = sum;
  }
}

template <int KH, int KW, int C>
cudaError_t launch_as(const FirstConv& p, bool weights, cudaStream_t stream) {
  const Strips strips(p.shape);
  const int image = (2 * strips.lines + KH - 1) * p.shape.in_w * C;
  constexpr int taps = KH * KW * C;
  if (weights) {
    const int reduce = (taps + 1) * backward_threads;
    const int bytes = (image > reduce ? image : reduce) * static_cast<int>(sizeof(float));
    return launch(backward<KH, KW, C>, p.splits, backward_threads, bytes, stream, p);
  }
  if (p.tensor && p.shape.filters % 32 == 0)
    return launch(tensor_forward<KH, KW, C>, p.count * strips.count * p.filter_blocks,
                  forward_threads, image * static_cast<int>(sizeof(float)), stream, p);
  const int filters = p.shape.filters / p.filter_blocks;
  const int bytes = (taps * filters + image) * static_cast<int>(sizeof(float));
  return launch(forward<KH, KW, C>, p.count * strips.count * p.filter_blocks, forward_threads,
                bytes, stream, p);
}

cudaError_t dispatch(const FirstConv& p, bool weights, cudaStream_t stream) {
  if (p.shape.kernel_h == 4) return launch_as<4, 4, 1>(p, weights, stream);
  if (p.shape.channels == 1) return launch_as<3, 3, 1>(p, weights, stream);
  return launch_as<3, 3, 3>(p, weights, stream);
}

}  // namespace

bool first_conv_supports(const ConvShape& s) {
  const bool kernel = (s.kernel_h == 4 && s.kernel_w == 4 && s.channels == 1) ||
                      (s.kernel_h == 3 && s.kernel_w == 3 && (s.channels == 1 || s.channels == 3));
  const bool filters =
      s.filters == 8 || s.filters == 16 || s.filters == 32 || s.filters == 64 || s.filters == 128;
  return kernel && filters && s.pool == 2 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.in_h == s.out_h + s.kernel_h - 1 &&
         s.in_w == s.out_w + s.kernel_w - 1 &&
         (s.kernel_h + 1) * s.in_w * s.channels <= strip_floats;
}

cudaError_t launch_first_conv(const FirstConv& p, cudaStream_t stream) {
  return dispatch(p, false, stream);
}
cudaError_t launch_first_conv_weights(const FirstConv& p, cudaStream_t stream) {
  return dispatch(p, true, stream);
}

}  // namespace sweetspot::engine::cuda
