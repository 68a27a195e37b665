#include "engine/cuda/kernels/first_conv.cuh"

// A first convolution has one to three channels: too little depth for the tensor cores to pay, and
// samples stored as bytes in the data set. One pass reads the bytes, convolves, adds the bias,
// applies ReLU and pools; the backward pass reads the bytes again and visits only the windows'
// winners, a quarter of the positions.
namespace sweetspot::engine::cuda {
namespace {

constexpr int forward_threads = 256, backward_threads = 256;
constexpr int filters_at_once = 8;
constexpr int strip_floats = 4096;  // of the image in shared memory: 16 KiB

__device__ inline int filter_block_bits(const FirstConv& p) { return 31 - __clz(p.filter_blocks); }

template <int KH, int KW, int C>
__global__ void __launch_bounds__(forward_threads, 2) forward(const __grid_constant__ FirstConv p) {
  extern __shared__ __align__(16) float shared[];
  const ConvShape& s = p.shape;
  const int share = p.filter_blocks, filters = s.filters >> filter_block_bits(p);  // of this block
  const int rest = p.by_filter_blocks.quotient(blockIdx.x);
  const int f_first = (blockIdx.x - rest * share) * filters;
  const int sample = p.by_strips.quotient(rest), strip = rest - sample * p.strips;
  const int width = s.out_w / 2, first = strip * p.strip_lines;
  const int lines = min(p.strip_lines, s.out_h / 2 - first), pitch = s.in_w * C;
  const int bits = filter_bits(p) - filter_block_bits(p);
  float* weights = shared;  // (taps, channels, filters of this block)
  float* image = shared + KH * KW * C * filters;
  const auto load = [&] {
    load_strip<C>(p, p.source.row(sample), 2 * first, 2 * lines + KH - 1, image);
  };
  if (p.source.settled) load();
  wait_for_predecessor();
  for (int i = threadIdx.x; i < KH * KW * C * filters; i += blockDim.x)
    weights[i] = p.weights[(i >> bits) * s.filters + f_first + (i & (filters - 1))];
  if (!p.source.settled) load();
  __syncthreads();

  const int windows = lines * width;
  for (int item = threadIdx.x; item < windows * (filters / filters_at_once); item += blockDim.x) {
    const int group = item / windows, window = item - group * windows;
    const int py = p.by_width.quotient(window), px = window - py * width;
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

// The same on the tensor cores in tf32, for every precision except fp32.
template <int KH, int KW, int C>
__global__ void __launch_bounds__(forward_threads, 3)
    tensor_forward(const __grid_constant__ FirstConv p) {
  extern __shared__ __align__(16) float shared[];
  const ConvShape& s = p.shape;
  const int rest = p.by_filter_blocks.quotient(blockIdx.x);
  const int part = blockIdx.x - rest * p.filter_blocks;  // of the windows
  const int sample = p.by_strips.quotient(rest), strip = rest - sample * p.strips;
  const int width = s.out_w / 2, first = strip * p.strip_lines;
  const int lines = min(p.strip_lines, s.out_h / 2 - first), windows = lines * width;
  const auto load = [&] {
    load_strip<C, true>(p, p.source.row(sample), 2 * first, 2 * lines + KH - 1, shared);
  };
  if (p.source.settled) load();
  wait_for_predecessor();
  if (!p.source.settled) load();
  for (int f0 = 0; f0 < s.filters; f0 += 32) {
    const TensorTaps<KH, KW, C> taps(p, f0);
    __syncthreads();
    for (int group = threadIdx.x / 32 + part * (forward_threads / 32); group * 8 < windows;
         group += p.filter_blocks * (forward_threads / 32))
      taps.run(p, shared, group, windows, [&](int window, int f, float2 value, uchar2 code) {
        const std::int64_t at =
            (std::int64_t{sample} * (s.out_h / 2 * width) + first * width + window) * s.filters + f;
        *reinterpret_cast<float2*>(p.value + at) = value;
        if (p.code) *reinterpret_cast<uchar2*>(p.code + at) = code;
      });
  }
}

// Each block takes every n-th sample, or a part of the windows of one.
template <int KH, int KW, int C>
__global__ void __launch_bounds__(backward_threads) backward(const __grid_constant__ FirstConv p) {
  extern __shared__ __align__(16) float shared[];
  const ConvShape& s = p.shape;
  const int width = s.out_w / 2, windows = s.out_h / 2 * width, bits = filter_bits(p);
  const int f = threadIdx.x & (s.filters - 1), apart = backward_threads >> bits;
  FilterSums<KH, KW, C> sums;
  const int part = blockIdx.x % p.window_parts;  // of the windows of a sample
  bool waited = false;
  for (int sample = blockIdx.x / p.window_parts; sample < p.count;
       sample += p.splits / p.window_parts)
    for (int strip = 0; strip < p.strips; ++strip) {
      const int first = strip * p.strip_lines, lines = min(p.strip_lines, s.out_h / 2 - first);
      __syncthreads();
      load_strip<C>(p, p.source.row(sample), 2 * first, 2 * lines + KH - 1, shared);
      if (!waited) wait_for_predecessor();
      waited = true;
      __syncthreads();
      const std::int64_t from = (std::int64_t{sample} * windows + first * width) * s.filters + f;
      sums.add(
          p, shared, (threadIdx.x >> bits) + part * apart, apart * p.window_parts, lines * width,
          [&](int window) { return p.gradient[from + window * s.filters]; },
          [&](int window) { return p.code[from + window * s.filters]; });
    }
  if (!waited) wait_for_predecessor();
  __syncthreads();
  sums.template write<backward_threads>(p, blockIdx.x, shared);
}

template <int KH, int KW, int C>
cudaError_t launch_as(const FirstConv& p, bool weights, cudaStream_t stream) {
  const int image = (2 * p.strip_lines + KH - 1) * p.shape.in_w * C;
  constexpr int taps = KH * KW * C;
  if (weights) {
    const int reduce = (taps + 1) * backward_threads;
    const int bytes = (image > reduce ? image : reduce) * static_cast<int>(sizeof(float));
    return launch(backward<KH, KW, C>, p.splits, backward_threads, bytes, stream, p);
  }
  if (p.tensor && p.shape.filters % 32 == 0)
    return launch(tensor_forward<KH, KW, C>, p.count * p.strips * p.filter_blocks, forward_threads,
                  image * static_cast<int>(sizeof(float)), stream, p);
  const int filters = p.shape.filters / p.filter_blocks;
  const int bytes = (taps * filters + image) * static_cast<int>(sizeof(float));
  return launch(forward<KH, KW, C>, p.count * p.strips * p.filter_blocks, forward_threads, bytes,
                stream, p);
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

void set_strips(FirstConv& p) {
  const int line = p.shape.in_w * p.shape.channels, pooled = p.shape.out_h / 2;
  const int most = (strip_floats / line - p.shape.kernel_h + 1) / 2;
  p.strip_lines = most < 1 ? 1 : most > pooled ? pooled : most;
  p.strips = (pooled + p.strip_lines - 1) / p.strip_lines;
  p.by_strips = Divider(p.strips), p.by_width = Divider(p.shape.out_w / 2);
  p.by_filter_blocks = Divider(p.filter_blocks);
}

cudaError_t launch_first_conv(const FirstConv& p, cudaStream_t stream) {
  return dispatch(p, false, stream);
}
cudaError_t launch_first_conv_weights(const FirstConv& p, cudaStream_t stream) {
  return dispatch(p, true, stream);
}

}  // namespace sweetspot::engine::cuda
