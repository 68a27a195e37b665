#include "engine/cuda/kernels/few_samples.h"
#include "engine/cuda/kernels/gemm.cuh"
#include "engine/cuda/kernels/lanes.cuh"
#include "engine/cuda/kernels/optimizer_rules.cuh"

// Products of a dense layer with so few samples that reading its weights dominates: each weight is
// read once, into registers, and multiplied with all samples there, in fp32.
namespace sweetspot::engine::cuda {
namespace {

constexpr int warps = block_threads / 32;
constexpr int x_pitch = thin_most_samples + 4;  // of an input's samples in shared memory

// The gradient after ReLU and dropout, by the codes; zero beyond the samples and filters.
__device__ float4 gradient4(const GemmPart& p, int sample, int n) {
  if (sample >= p.count || n >= p.shape.filters) return {};
  const std::int64_t at = static_cast<std::int64_t>(sample) * p.shape.filters + n;
  float4 g = load4(p.gradient + at);
  if (p.code) g = let_through(g, *reinterpret_cast<const uchar4*>(p.code + at));
  return g;
}

// A block has 32 filters and a split of the depth, of which its warps have parts: eight lanes share
// a row of the kernel, four rows at a time.
template <int samples>
__global__ void __launch_bounds__(block_threads, 2)
    thin_forward_kernel(const __grid_constant__ GemmPart p) {
  constexpr int lanes = thin_filters / 4, rows = 32 / lanes, turns = 32 / rows;
  constexpr int stage = 32 * warps, ahead = samples > 4 ? 4 : 8;  // of depth, loads in flight
  extern __shared__ __align__(16) float shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int split = blockIdx.x / p.tiles_n, tile = blockIdx.x - split * p.tiles_n;
  const int n = tile * thin_filters + lane % lanes * 4, row = warp * 32 + lane / lanes;
  const int begin = split * p.split_depth, end = min(begin + p.split_depth, p.shape.channels);
  float4 sums[samples] = {};
  float4 w[ahead];
  const auto fetch = [&](int first) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int k = first + i * rows + row;
      w[i] = k < end && n < p.shape.filters
                 ? load4(p.weights + static_cast<std::int64_t>(k) * p.shape.filters + n)
                 : float4{};
    }
  };
  fetch(begin);
  wait_for_predecessor();
  for (int k0 = begin; k0 < end; k0 += stage) {
    __syncthreads();
    load_inputs<samples, x_pitch, block_threads>(p, k0, stage, shared);
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < turns; j += ahead) {
      float4 now[ahead];
#pragma unroll
      for (int i = 0; i < ahead; ++i) now[i] = w[i];
      fetch(j + ahead < turns ? k0 + (j + ahead) * rows : k0 + stage);
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        const float* x = shared + (row + (j + i) * rows) * x_pitch;
        add_products(sums, now[i], x);
      }
    }
  }
  float4 half[samples / 2], quarter[samples / 4];
  halve<samples>(sums, lane & 16, 16, half);
  halve<samples / 2>(half, lane & 8, 8, quarter);
  const int first = (lane & 16 ? samples / 2 : 0) + (lane & 8 ? samples / 4 : 0);
  __syncthreads();
  // (warp, sample, filters in fours): added in the order of the warps.
  constexpr int vectors = samples * lanes;
  float4* parts = reinterpret_cast<float4*>(shared);
#pragma unroll
  for (int i = 0; i < samples / 4; ++i)
    parts[warp * vectors + (first + i) * lanes + lane % lanes] = quarter[i];
  __syncthreads();
  float4 v[1] = {};
  if (threadIdx.x < vectors)
#pragma unroll
    for (int part = 0; part < warps; ++part) v[0] = v[0] + parts[part * vectors + threadIdx.x];
  if (p.splits > 1 && !gather_splits<1, vectors>(p, tile, split, v)) return;
  const int sample = threadIdx.x / lanes, filter = tile * thin_filters + threadIdx.x % lanes * 4;
  if (threadIdx.x >= vectors || sample >= p.count || filter >= p.shape.filters) return;
  float low[2] = {v[0].x, v[0].y}, high[2] = {v[0].z, v[0].w};
  finish_plain<true>(p, sample, 0, filter, low);
  finish_plain<true>(p, sample, 0, filter + 2, high);
}

// Adds what a block's lanes and the splits have of the input gradient, and stores it.
template <int samples, int rows>
__device__ void finish_thin_data(const GemmPart& p, int tile, int split,
                                 const float (&sums)[rows][samples], float* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int s = 0; s < samples; ++s) {
      float sum = sums[r][s];
#pragma unroll
      for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
      if (lane == 0) shared[s * thin_inputs + warp * rows + r] = sum;
    }
  __syncthreads();
  constexpr int holders = samples * thin_inputs / 4;
  float4 v[1] = {};
  if (threadIdx.x < holders) v[0] = load4(shared + threadIdx.x * 4);
  if (p.splits > 1 && !gather_splits<1, holders>(p, tile, split, v)) return;
  const int sample = threadIdx.x / (thin_inputs / 4);
  const int k = tile * thin_inputs + threadIdx.x % (thin_inputs / 4) * 4;
  if (threadIdx.x < holders && sample < p.count && k < p.shape.channels)
    store4(p.input_gradient + static_cast<std::int64_t>(sample) * p.shape.channels + k,
           v[0] * p.scale);
}

// The input gradient. A warp has four inputs; its lanes divide the filters.
template <int samples>
__device__ void thin_data(const GemmPart& p, int block, float* shared) {
  constexpr int rows = thin_inputs / warps, stage = 256, vectors = stage / 4;  // of filters
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int split = block / p.tiles_n, tile = block - split * p.tiles_n;
  const int k0 = tile * thin_inputs + warp * rows;
  const int begin = split * p.split_depth, end = min(begin + p.split_depth, p.shape.filters);
  float4* gradients = reinterpret_cast<float4*>(shared);  // (sample, filters in fours)
  float sums[rows][samples] = {};
  for (int n0 = begin; n0 < end; n0 += stage) {
    float4 w[stage / 128][rows];
#pragma unroll
    for (int i = 0; i < stage / 128; ++i)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int n = n0 + i * 128 + lane * 4, k = k0 + r;
        w[i][r] = n < end && k < p.shape.channels
                      ? load4(p.weights + static_cast<std::int64_t>(k) * p.shape.filters + n)
                      : float4{};
      }
    if (n0 == begin) wait_for_predecessor();
    __syncthreads();
    for (int i = threadIdx.x; i < samples * vectors; i += block_threads) {
      const int n = n0 + i % vectors * 4;
      gradients[i] = n < end ? gradient4(p, i / vectors, n) : float4{};
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < stage / 128; ++i)
#pragma unroll
      for (int s = 0; s < samples; ++s) {
        const float4 g = gradients[s * vectors + i * 32 + lane];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          float& sum = sums[r][s];
          sum = fmaf(w[i][r].x, g.x, sum), sum = fmaf(w[i][r].y, g.y, sum);
          sum = fmaf(w[i][r].z, g.z, sum), sum = fmaf(w[i][r].w, g.w, sum);
        }
      }
  }
  finish_thin_data(p, tile, split, sums, shared);
}

// The whole weight gradient: a lane has four filters' gradients of all samples, a block thin_rows
// inputs.
template <int samples>
__device__ void thin_weights(const GemmPart& p, int block, float* shared) {
  const int lane = threadIdx.x % 32;
  const int tile_k = block / p.tiles_n, tile_n = block - tile_k * p.tiles_n;
  const int k0 = tile_k * thin_rows, n = tile_n * thin_columns + lane * 4;
  wait_for_predecessor();
  load_inputs<samples, x_pitch, block_threads>(p, k0, thin_rows, shared);
  float4 g[samples];
#pragma unroll
  for (int s = 0; s < samples; ++s) g[s] = gradient4(p, s, n);
  __syncthreads();
  if (n >= p.shape.filters) return;
  store_weight_gradient<samples, x_pitch, thin_rows, warps>(p, k0, n, g, shared);
}

// The gradients of all samples at this thread's four filters: in registers, or, of more samples, in
// shared memory, so that registers are left for the loads in flight.
template <int samples>
struct ThinGradients {
  static constexpr bool in_registers = samples <= 4;
  static constexpr int floats = in_registers ? 0 : samples * thin_columns;
  float4 own[in_registers ? samples : 1];
  float* shared;  // (sample, filter)

  __device__ ThinGradients(const GemmPart& p, int tile_n, float* to) : shared(to) {
    const int n = tile_n * thin_columns + threadIdx.x % 32 * 4;
    if constexpr (in_registers) {
#pragma unroll
      for (int s = 0; s < samples; ++s) own[s] = gradient4(p, s, n);
    } else {
      for (int s = threadIdx.x / 32; s < samples; s += warps)
        store4(shared + s * thin_columns + threadIdx.x % 32 * 4, gradient4(p, s, n));
    }
  }
  __device__ float4 at(int s) const {
    if constexpr (in_registers) return own[s];
    return load4(shared + s * thin_columns + threadIdx.x % 32 * 4);
  }
};

// Each weight and its moments are in registers once. Nothing else writes what is updated, and it is
// older than the predecessor.
template <int samples>
__global__ void __launch_bounds__(block_threads, 3)
    thin_update_kernel(const __grid_constant__ ThinUpdate t) {
  extern __shared__ __align__(16) float shared[];
  constexpr int at_once = 2;
  const GemmPart& p = t.part;
  const InPlaceUpdate& u = t.update;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile_k = blockIdx.x / p.tiles_n, tile_n = blockIdx.x - tile_k * p.tiles_n;
  const int k0 = tile_k * thin_rows, n = tile_n * thin_columns + lane * 4;
  const bool real = n < p.shape.filters;
  const auto place = [&](int row) { return static_cast<std::int64_t>(row) * p.shape.filters + n; };
  const auto fetch = [&](std::int64_t at, float4& w, float4& m, float4& v) {
    w = load4(u.weights + at);
    if (u.mean) m = load4(u.mean + at);
    if (u.square) v = load4(u.square + at);
  };
  float4 w[at_once] = {}, m[at_once] = {}, v[at_once] = {};
  const auto inside = [&](int row) {
    return real && row < thin_rows && k0 + row < p.shape.channels;
  };
  const auto fetch_from = [&](int from) {
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (const int row = from + i * warps; inside(row)) fetch(place(k0 + row), w[i], m[i], v[i]);
  };
  fetch_from(warp);
  wait_for_predecessor();
  load_inputs<samples, x_pitch, block_threads>(p, k0, thin_rows, shared);
  const ThinGradients<samples> g(p, tile_n, shared + thin_rows * x_pitch);
  const Rates rate(*u.state);
  const float unscale = u.scaled ? __ldcg(&u.state->unscale) : 1.f;
  // In fp16: all gradients that may overflow are older, and one has.
  if (u.scaled && __ldcg(&u.state->bad)) return;
  const auto settle = [&](std::int64_t at, float4 gradient, float4 weight, float4 mean,
                          float4 square) {
    store4(u.weights + at, updated(u.rule, rate, weight, gradient * unscale, mean, square));
    if (u.mean) store4(u.mean + at, mean);
    if (u.square) store4(u.square + at, square);
  };
  __syncthreads();
  for (int from = warp; from < thin_rows; from += warps * at_once) {
    if (from != warp) fetch_from(from);
    float4 sum[at_once] = {};
#pragma unroll
    for (int s = 0; s < samples; s += 4) {
      float4 x[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) x[i] = load4(shared + (from + i * warps) * x_pitch + s);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float4 gradient = g.at(s + e);
#pragma unroll
        for (int i = 0; i < at_once; ++i) add_product(sum[i], gradient, of4(x[i], e));
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (const int row = from + i * warps; inside(row))
        settle(place(k0 + row), sum[i], w[i], m[i], v[i]);
  }
  if (!real) return;
  if (tile_k == 0 && warp == 0 && p.bias) {
    float4 sum{};
#pragma unroll
    for (int s = 0; s < samples; ++s) sum = sum + g.at(s);
    fetch(place(p.shape.channels), w[0], m[0], v[0]);
    settle(place(p.shape.channels), sum, w[0], m[0], v[0]);
  }
}

// The input gradient and the update of the same weights, each of which is read once for both. More
// samples would leave too few registers for loads in flight.
template <int samples>
__global__ void __launch_bounds__(block_threads, 2)
    thin_data_update_kernel(const __grid_constant__ ThinUpdate t) {
  constexpr int rows = thin_inputs / warps;
  extern __shared__ __align__(16) float shared[];
  const GemmPart& p = t.part;
  const InPlaceUpdate& u = t.update;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int split = blockIdx.x / p.tiles_n, tile = blockIdx.x - split * p.tiles_n;
  const int k0 = tile * thin_inputs + warp * rows;
  const int begin = split * p.split_depth, end = min(begin + p.split_depth, p.shape.filters);
  const auto place = [&](int k, int n) {
    return static_cast<std::int64_t>(k) * p.shape.filters + n;
  };
  float4 w[rows] = {}, m[rows] = {}, v[rows] = {};
  const auto fetch = [&](int r, int k, int n) {
    w[r] = load4(u.weights + place(k, n));
    if (u.mean) m[r] = load4(u.mean + place(k, n));
    if (u.square) v[r] = load4(u.square + place(k, n));
  };
  const auto fetch_rows = [&](int n) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (n < end && k0 + r < p.shape.channels) fetch(r, k0 + r, n);
  };
  fetch_rows(begin + lane * 4);
  wait_for_predecessor();
  load_inputs<samples, x_pitch, block_threads>(p, tile * thin_inputs, thin_inputs, shared);
  const Rates rate(*u.state);
  const float unscale = u.scaled ? __ldcg(&u.state->unscale) : 1.f;
  // In fp16: all gradients that may overflow are older, and one has.
  const bool skips = u.scaled && __ldcg(&u.state->bad);
  const auto settle = [&](int r, int k, int n, float4 gradient) {
    if (skips) return;
    store4(u.weights + place(k, n), updated(u.rule, rate, w[r], gradient * unscale, m[r], v[r]));
    if (u.mean) store4(u.mean + place(k, n), m[r]);
    if (u.square) store4(u.square + place(k, n), v[r]);
  };
  __syncthreads();
  const bool has_bias = tile == 0 && warp == 0 && p.bias;
  float sums[rows][samples] = {};
  for (int n = begin + lane * 4; n < end; n += 128) {
    float4 gradients[rows] = {}, bias_gradient{};
#pragma unroll
    for (int s = 0; s < samples; ++s) {
      const float4 g = gradient4(p, s, n);
      bias_gradient = bias_gradient + g;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        float& sum = sums[r][s];
        sum = fmaf(w[r].x, g.x, sum), sum = fmaf(w[r].y, g.y, sum);
        sum = fmaf(w[r].z, g.z, sum), sum = fmaf(w[r].w, g.w, sum);
        add_product(gradients[r], g, shared[(warp * rows + r) * x_pitch + s]);
      }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (k0 + r < p.shape.channels) settle(r, k0 + r, n, gradients[r]);
    if (has_bias) {
      fetch(0, p.shape.channels, n);
      settle(0, p.shape.channels, n, bias_gradient);
    }
    fetch_rows(n + 128);
  }
  finish_thin_data(p, tile, split, sums, shared);
}

template <int samples>
__global__ void __launch_bounds__(block_threads, 2)
    thin_backward_kernel(const __grid_constant__ GemmParts parts) {
  extern __shared__ __align__(16) float shared[];
  const int block = blockIdx.x;
  if (block < parts.data_blocks) return thin_data<samples>(parts.data, block, shared);
  thin_weights<samples>(parts.weights[0], block - parts.data_blocks, shared);
}

template <int samples>
constexpr int shared_bytes() {
  constexpr int inputs = 32 * warps * x_pitch, sums = warps * samples * thin_filters;
  return static_cast<int>(sizeof(float)) * (inputs > sums ? inputs : sums);
}

template <int samples>
cudaError_t launch_forward(const GemmPart& part, cudaStream_t stream) {
  constexpr int bytes = shared_bytes<samples>();
  static const cudaError_t allowed = allow_shared_memory(thin_forward_kernel<samples>, bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(thin_forward_kernel<samples>, part.tiles_n * part.splits, block_threads, bytes,
                stream, part);
}
template <int samples>
cudaError_t launch_backward(const GemmParts& parts, cudaStream_t stream) {
  constexpr int bytes = 16 * 1024 + 4 * thin_rows * x_pitch;
  return launch(thin_backward_kernel<samples>, parts.data_blocks + parts.weight_blocks[0],
                block_threads, bytes, stream, parts);
}

template <int samples>
cudaError_t launch_in_place(const ThinUpdate& t, cudaStream_t stream) {
  const GemmPart& p = t.part;
  const int blocks = p.tiles_n * ((p.shape.channels + thin_rows - 1) / thin_rows);
  constexpr int floats = thin_rows * x_pitch + ThinGradients<samples>::floats;
  return launch(thin_update_kernel<samples>, blocks, block_threads, 4 * floats, stream, t);
}

}  // namespace

cudaError_t launch_thin_data_update(const ThinUpdate& t, cudaStream_t stream) {
  constexpr int floats = thin_inputs * x_pitch;
  static_assert(floats >= thin_fused_samples * thin_inputs);
  return launch(thin_data_update_kernel<thin_fused_samples>, t.part.tiles_n * t.part.splits,
                block_threads, 4 * floats, stream, t);
}
cudaError_t launch_thin_update(const ThinUpdate& t, cudaStream_t stream) {
  return t.part.count <= 4 ? launch_in_place<4>(t, stream)
                           : launch_in_place<thin_most_samples>(t, stream);
}
cudaError_t launch_thin_forward(const GemmPart& part, cudaStream_t stream) {
  return part.count <= 4 ? launch_forward<4>(part, stream)
                         : launch_forward<thin_most_samples>(part, stream);
}
cudaError_t launch_thin_backward(const GemmParts& parts, cudaStream_t stream) {
  return parts.weights[0].count <= 4 ? launch_backward<4>(parts, stream)
                                     : launch_backward<thin_most_samples>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
