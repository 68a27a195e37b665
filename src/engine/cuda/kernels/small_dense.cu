#include "engine/cuda/kernels/gemm.cuh"
#include "engine/cuda/kernels/lanes.cuh"
#include "engine/cuda/kernels/small_dense.h"

namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

// Of an input's samples in shared memory.
template <int samples>
constexpr int pitch_of = samples + 4;

// The sum over the lanes of `samples` neighbours.
template <int samples>
__device__ float over_lanes(float v) {
#pragma unroll
  for (int mask = samples / 2; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffffu, v, mask);
  return v;
}

// One value of each sample and feature: normalises over the samples and activates.
template <int samples>
__device__ void normalise(const GemmPart& p, const SmallNorm& n, int sample, int feature, float v) {
  const bool real = feature < p.shape.filters;
  if (real && p.bias) v += p.bias[feature];
  const float rows = 1 / static_cast<float>(p.count);
  const bool present = sample < p.count;
  const float mean = over_lanes<samples>(present ? v : 0.f) * rows;
  const float distance = present ? v - mean : 0.f;
  const float variance = over_lanes<samples>(distance * distance) * rows;
  if (!real) return;
  const float scale = 1 / sqrtf(variance + n.epsilon);
  if (sample == 0) {
    n.mean[feature] = mean, n.scale[feature] = scale;
    const auto move = [&](float& moving, float now) {
      moving = moving * n.momentum + now * (1 - n.momentum);
    };
    move(n.moving_mean[feature], mean), move(n.moving_variance[feature], variance);
  }
  if (!present) return;
  const float factor = n.gamma ? scale * n.gamma[feature] : scale;
  const float y = activated(n.function, distance * factor + (n.beta ? n.beta[feature] : 0.f));
  const std::int64_t at = std::int64_t{sample} * p.shape.filters + feature;
  p.value[at] = v;
  n.output[at] = feature < n.channels ? y : 0.f;
}

// Four lanes share a row of the kernel; 64 groups of lanes share the depth.
template <int samples>
__global__ void __launch_bounds__(threads, 1)
    small_forward_kernel(const __grid_constant__ SmallDense d) {
  constexpr int vectors = small_filters / 4, groups = threads / vectors, ahead = 8;
  extern __shared__ __align__(16) float shared[];
  const GemmPart& p = d.part;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = threadIdx.x / vectors;
  const int n0 = blockIdx.x * small_filters, n = n0 + threadIdx.x % vectors * 4;
  const int depth = p.shape.channels;
  float4 w[ahead];
  const auto fetch = [&](int k0) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int k = k0 + i * groups + group;
      w[i] = k < depth && n < p.shape.filters
                 ? load4(p.weights + std::int64_t{k} * p.shape.filters + n)
                 : float4{};
    }
  };
  fetch(0);
  wait_for_predecessor();
  load_inputs<samples, pitch_of<samples>, threads>(p, 0, depth, shared);
  __syncthreads();
  float4 sums[samples] = {};
  for (int k0 = 0; k0 < depth; k0 += ahead * groups) {
    float4 now[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) now[i] = w[i];
    if (k0 + ahead * groups < depth) fetch(k0 + ahead * groups);
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int k = min(k0 + i * groups + group, depth - 1);  // beyond it the weights are zero
      const float* x = shared + k * pitch_of<samples>;
      add_products(sums, now[i], x);
    }
  }
  // Over the eight groups of a warp; each lane ends with an eighth of the samples, or half of one.
  float4 half[samples / 2], quarter[samples / 4];
  halve<samples>(sums, lane & 16, 16, half);
  halve<samples / 2>(half, lane & 8, 8, quarter);
  constexpr int each = samples >= 8 ? samples / 8 : 1;
  float4 last[each];
  if constexpr (samples >= 8)
    halve<samples / 4>(quarter, lane & 4, 4, last);
  else
    last[0] = added(quarter[0], shuffled(quarter[0], 4));
  const int first = (lane & 16 ? samples / 2 : 0) + (lane & 8 ? samples / 4 : 0) +
                    (samples >= 8 && (lane & 4) ? samples / 8 : 0);
  __syncthreads();
  // (warp, sample, filter), added in the order of the warps.
#pragma unroll
  for (int i = 0; i < each; ++i)
    store4(shared + (warp * samples + first + i) * small_filters + lane % vectors * 4, last[i]);
  __syncthreads();
  // A thread has a sample and two adjacent filters.
  const int sample = threadIdx.x % samples, f = threadIdx.x / samples * 2;
  if (f >= small_filters) return;
  float v[2] = {};
#pragma unroll
  for (int part = 0; part < warps; ++part) {
    const float2 sum =
        *reinterpret_cast<const float2*>(shared + (part * samples + sample) * small_filters + f);
    v[0] += sum.x, v[1] += sum.y;
  }
  if (d.norm.exists) {
    normalise<samples>(p, d.norm, sample, n0 + f, v[0]);
    normalise<samples>(p, d.norm, sample, n0 + f + 1, v[1]);
  } else if (sample < p.count && n0 + f < p.shape.filters) {
    finish_plain<true>(p, sample, 0, n0 + f, v);
  }
}

// The gradient of the layer's own output, before what follows it, of four features and all samples.
template <int samples, bool smooth>
__device__ void gradients_of(const SmallDense& d, int n, bool stores, float4 (&g)[samples]) {
  const GemmPart& p = d.part;
  const auto at = [&](int s) { return std::int64_t{s} * p.shape.filters + n; };
#pragma unroll
  for (int s = 0; s < samples; ++s) g[s] = s < p.count ? load4(p.gradient + at(s)) : float4{};
  if (!d.norm.exists) {
    if (smooth && p.function != Function::linear)
#pragma unroll
      for (int s = 0; s < samples; ++s)
        if (s < p.count) g[s] = through_activation(p.function, load4(p.value + at(s)), g[s]);
    if (!p.code) return;
#pragma unroll
    for (int s = 0; s < samples; ++s) {
      if (s >= p.count) break;
      const uchar4 code = *reinterpret_cast<const uchar4*>(p.code + at(s));
      g[s] = {code.x ? 0.f : g[s].x, code.y ? 0.f : g[s].y, code.z ? 0.f : g[s].z,
              code.w ? 0.f : g[s].w};
    }
    return;
  }
  const SmallNorm& norm = d.norm;
  float4 z[samples];  // distances from the mean
  const float4 mean = load4(norm.mean + n), scale = load4(norm.scale + n);
#pragma unroll
  for (int s = 0; s < samples; ++s) z[s] = s < p.count ? load4(p.value + at(s)) - mean : float4{};
  const float4 factor = norm.gamma ? scale * load4(norm.gamma + n) : scale;
  const float4 shift = norm.beta ? load4(norm.beta + n) : float4{};
  float4 gradient{}, product{};
#pragma unroll
  for (int s = 0; s < samples; ++s) {
    const float4 y = z[s] * factor + shift;
    if constexpr (smooth)
      g[s] = through_activation(
          norm.function, each(y, [&](float v) { return activated(norm.function, v); }), g[s]);
    else if (norm.function == Function::relu)
      g[s] = through_activation(Function::relu, y, g[s]);
    gradient = gradient + g[s], product = product + g[s] * z[s];
  }
  product = product * scale;
  if (stores && norm.gamma_gradient) store4(norm.gamma_gradient + n, product);
  if (stores && norm.beta_gradient) store4(norm.beta_gradient + n, gradient);
  const float rows = 1 / static_cast<float>(p.count);
  const float4 by_distance = product * rows * scale;
#pragma unroll
  for (int s = 0; s < samples; ++s)
    g[s] = s < p.count ? factor * (g[s] - gradient * rows - z[s] * by_distance) : float4{};
}

// The input gradient: a warp has two inputs, and its lanes divide the filters.
template <int samples, bool smooth>
__device__ void small_data(const SmallDense& d, int block, float* shared) {
  constexpr int rows = small_inputs / warps, ahead = 4;
  const GemmPart& p = d.part;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int k0 = block * small_inputs + warp * rows, vectors = p.shape.filters / 4;
  float4 w[ahead][rows];
  const auto fetch = [&](int first) {
#pragma unroll
    for (int i = 0; i < ahead; ++i)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int v = first + i * 32 + lane;
        w[i][r] = v < vectors && k0 + r < p.shape.channels
                      ? load4(p.weights + std::int64_t{k0 + r} * p.shape.filters + 4 * v)
                      : float4{};
      }
  };
  fetch(0);
  wait_for_predecessor();
  for (int v = threadIdx.x; v < vectors; v += threads) {
    float4 g[samples];
    gradients_of<samples, smooth>(d, 4 * v, false, g);
#pragma unroll
    for (int s = 0; s < samples; ++s) store4(shared + (s * vectors + v) * 4, g[s]);
  }
  __syncthreads();
  float sums[rows * samples] = {};
  for (int first = 0; first < vectors; first += ahead * 32) {
    float4 now[ahead][rows];
#pragma unroll
    for (int i = 0; i < ahead; ++i)
#pragma unroll
      for (int r = 0; r < rows; ++r) now[i][r] = w[i][r];
    if (first + ahead * 32 < vectors) fetch(first + ahead * 32);
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int v = min(first + i * 32 + lane, vectors - 1);  // beyond it the weights are zero
#pragma unroll
      for (int s = 0; s < samples; ++s) {
        const float4 g = load4(shared + (s * vectors + v) * 4);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          float& sum = sums[r * samples + s];
          sum = fmaf(now[i][r].x, g.x, sum), sum = fmaf(now[i][r].y, g.y, sum);
          sum = fmaf(now[i][r].z, g.z, sum), sum = fmaf(now[i][r].w, g.w, sum);
        }
      }
    }
  }
  // Each lane ends with one of a warp's sums, or with copies of fewer.
  constexpr int count = rows * samples;
  static_assert(count == 32 || count == 8);
  float sum;
  int which;
  if constexpr (count == 32) {
    float a[16], b[8], c[4], e[2], f[1];
    halve<32>(sums, lane & 16, 16, a), halve<16>(a, lane & 8, 8, b), halve<8>(b, lane & 4, 4, c);
    halve<4>(c, lane & 2, 2, e), halve<2>(e, lane & 1, 1, f);
    sum = f[0], which = lane;
  } else {
    float a[4], b[2], c[1];
    halve<8>(sums, lane & 16, 16, a), halve<4>(a, lane & 8, 8, b), halve<2>(b, lane & 4, 4, c);
    sum = c[0] + shuffled(c[0], 2), sum += shuffled(sum, 1);
    which = lane / 4;
  }
  const int sample = which % samples, k = k0 + which / samples;
  if ((count < 32 && lane % 4 != 0) || sample >= p.count || k >= p.shape.channels) return;
  const std::int64_t at = std::int64_t{sample} * p.shape.channels + k;
  float g = sum * p.scale;
  if (p.input_function != Function::linear)
    g = through_activation(p.input_function, p.input[at], g);
  p.input_gradient[at] = g;
}

// The whole weight gradient: a lane has four filters' gradients of all samples.
template <int samples, bool smooth>
__device__ void small_weights(const SmallDense& d, int block, float* shared) {
  const GemmPart& p = d.part;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles_n = (p.shape.filters + small_columns - 1) / small_columns;
  const int tile_k = block / tiles_n, tile_n = block - tile_k * tiles_n;
  const int k0 = tile_k * small_rows, n = tile_n * small_columns + lane * 4;
  wait_for_predecessor();
  load_inputs<samples, pitch_of<samples>, threads>(p, k0, small_rows, shared);
  float4 g[samples];
  if (n < p.shape.filters) gradients_of<samples, smooth>(d, n, tile_k == 0 && warp == 0, g);
  __syncthreads();
  if (n >= p.shape.filters) return;
  store_weight_gradient<samples, pitch_of<samples>, small_rows, warps>(p, k0, n, g, shared);
}

// Sigmoid and tanh are compiled separately: their code would have to be loaded even if unused.
template <int samples, bool smooth>
__global__ void __launch_bounds__(threads, 1)
    small_backward_kernel(const __grid_constant__ SmallDense d) {
  extern __shared__ __align__(16) float shared[];
  const int block = blockIdx.x;
  if (block < d.data_blocks) return small_data<samples, smooth>(d, block, shared);
  small_weights<samples, smooth>(d, block - d.data_blocks, shared);
}

constexpr int most_bytes = 96 * 1024;  // of shared memory, which all GPUs have
constexpr int forward_floats(int samples, int depth) {
  const int inputs = depth * (samples + 4), sums = warps * samples * small_filters;
  return inputs > sums ? inputs : sums;
}
constexpr int backward_floats(int samples, int filters) {
  const int inputs = small_rows * (samples + 4), gradients = samples * filters;
  return inputs > gradients ? inputs : gradients;
}
constexpr int bytes_of(int floats) { return floats * static_cast<int>(sizeof(float)); }

template <int samples>
cudaError_t launch_forward(const SmallDense& d, cudaStream_t stream) {
  static const cudaError_t allowed = allow_shared_memory(small_forward_kernel<samples>, most_bytes);
  if (allowed != cudaSuccess) return allowed;
  const int blocks = (d.part.shape.filters + small_filters - 1) / small_filters;
  return launch(small_forward_kernel<samples>, blocks, threads,
                bytes_of(forward_floats(samples, d.part.shape.channels)), stream, d);
}
template <int samples, bool smooth>
cudaError_t launch_backward(const SmallDense& d, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(small_backward_kernel<samples, smooth>, most_bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(small_backward_kernel<samples, smooth>, d.data_blocks + d.weight_blocks, threads,
                bytes_of(backward_floats(samples, d.part.shape.filters)), stream, d);
}

}  // namespace

bool small_dense_supports(const ConvShape& shape) {
  return bytes_of(forward_floats(small_most_samples, shape.channels)) <= most_bytes &&
         bytes_of(backward_floats(small_most_samples, shape.filters)) <= most_bytes;
}
cudaError_t launch_small_dense(const SmallDense& d, cudaStream_t stream) {
  return d.part.count <= 4 ? launch_forward<4>(d, stream)
                           : launch_forward<small_most_samples>(d, stream);
}
cudaError_t launch_small_dense_backward(const SmallDense& d, cudaStream_t stream) {
  const auto is_smooth = [](Function f) { return f == Function::sigmoid || f == Function::tanh; };
  if (is_smooth(d.part.function) || is_smooth(d.norm.function))
    return d.part.count <= 4 ? launch_backward<4, true>(d, stream)
                             : launch_backward<small_most_samples, true>(d, stream);
  return d.part.count <= 4 ? launch_backward<4, false>(d, stream)
                           : launch_backward<small_most_samples, false>(d, stream);
}

}  // namespace sweetspot::engine::cuda
