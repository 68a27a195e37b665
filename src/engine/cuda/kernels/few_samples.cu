#include "engine/cuda/kernels/async_copy.cuh"
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

// The gradients of the four filters from n on after ReLU and dropout, by the codes: of this many
// samples, `step` apart; zero beyond the samples and filters. All loads are in flight together:
// none depends on a branch.
template <int samples>
__device__ void load_gradients(const GemmPart& p, int first, int step, int n,
                               float4 (&g)[samples]) {
  const auto real = [&](int i) { return first + i * step < p.count && n < p.shape.filters; };
  const auto place = [&](int i) {
    return real(i) ? static_cast<std::int64_t>(first + i * step) * p.shape.filters + n : 0;
  };
  uchar4 codes[samples] = {};
#pragma unroll
  for (int i = 0; i < samples; ++i) g[i] = load4(p.gradient + place(i));
  if (p.code)
#pragma unroll
    for (int i = 0; i < samples; ++i)
      codes[i] = *reinterpret_cast<const uchar4*>(p.code + place(i));
#pragma unroll
  for (int i = 0; i < samples; ++i) g[i] = real(i) ? let_through(g[i], codes[i]) : float4{};
}
__device__ float4 gradient4(const GemmPart& p, int sample, int n) {
  float4 g[1];
  load_gradients(p, sample, 0, n, g);
  return g[0];
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

// The input gradient of a tile of inputs: the block's first threads hold its sums (sample, input),
// which are added to those of the other splits and stored.
template <int samples, int inputs>
__device__ void finish_thin_data(const GemmPart& p, int tile, int split, float4 (&v)[1]) {
  constexpr int vectors = inputs / 4, holders = samples * vectors;
  static_assert(holders <= block_threads);
  if (p.splits > 1 && !gather_splits<1, holders>(p, tile, split, v)) return;
  const int sample = threadIdx.x / vectors, k = tile * inputs + threadIdx.x % vectors * 4;
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
  float4 v[1] = {};
  if (threadIdx.x < samples * thin_inputs / 4) v[0] = load4(shared + threadIdx.x * 4);
  finish_thin_data<samples, thin_inputs>(p, tile, split, v);
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
  load_gradients(p, 0, 1, n, g);
  __syncthreads();
  if (n >= p.shape.filters) return;
  store_weight_gradient<samples, x_pitch, thin_rows, warps>(p, k0, n, g, shared);
}

template <int samples>
struct UpdateMemory {
  static constexpr int rows = thin_update_rows(samples), columns = thin_most_columns(samples);
  static constexpr int at_once = 2, stages = 2;
  static constexpr bool holds_gradients = samples > 4;
  float4 copies[stages][at_once][3][block_threads];  // each thread has its own
  float inputs[rows * x_pitch];                      // (input, sample)
  float sums[columns / 128][samples][rows + 4];      // of the input's gradient, of each warp
  float gradients[holds_gradients ? samples : 1][holds_gradients ? columns : 4];
};

// The gradients of all samples at this thread's four filters: in registers, or, of more samples, in
// shared memory, where the threads with the same filters put a part of the samples each.
template <int samples>
struct ThinGradients {
  using Memory = UpdateMemory<samples>;
  float4 own[Memory::holds_gradients ? 1 : samples];
  const float* shared = nullptr;

  __device__ ThinGradients(const GemmPart& p, int n, int column, int group, int groups,
                           Memory& memory) {
    if constexpr (Memory::holds_gradients) {
      constexpr int most = samples / (warps / (Memory::columns / 128));
      float4 g[most];
      load_gradients(p, group, groups, n, g);
#pragma unroll
      for (int i = 0; i < most; ++i)
        if (const int s = group + i * groups; s < samples)
          store4(memory.gradients[s] + column, g[i]);
      shared = memory.gradients[0] + column;
    } else {
      load_gradients(p, 0, 1, n, own);
    }
  }
  __device__ float4 at(int s) const {
    if constexpr (Memory::holds_gradients) return load4(shared + s * Memory::columns);
    return own[s];
  }
};

struct StepScale {
  Rates rate;
  float unscale;
  bool skips;  // in fp16: all gradients that may overflow are older, and one has
  StepScale() = default;
  __device__ explicit StepScale(const InPlaceUpdate& u)
      : rate(*u.state),
        unscale(u.scaled ? __ldcg(&u.state->unscale) : 1.f),
        skips(u.scaled && __ldcg(&u.state->bad)) {}
};

// The update of the weights and, with `data`, the input gradient from the same weights, each of
// which is read once for both. A block has a tile of the inputs and a split of the filters, of
// `split_depth` columns: groups of threads as wide as the split have a row each, so that weights
// and moments are read and written in pieces of up to 4 KiB. A thread copies its own vectors of the
// next rows into shared memory, which takes no registers and needs no barrier, while it computes
// with these. Nothing else writes what is updated, and it is older than the predecessor.
template <int samples, bool data>
__global__ void __launch_bounds__(block_threads, samples > 4 ? 2 : 3)
    thin_update_kernel(const __grid_constant__ ThinUpdate t) {
  using Memory = UpdateMemory<samples>;
  constexpr int rows = Memory::rows, at_once = Memory::at_once, stages = Memory::stages;
  extern __shared__ __align__(16) float shared[];
  Memory& memory = *reinterpret_cast<Memory*>(shared);
  const GemmPart& p = t.part;
  const InPlaceUpdate& u = t.update;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile = blockIdx.x / p.splits, split = blockIdx.x - tile * p.splits;
  const int warps_of_row = p.split_depth / 128, groups = warps / warps_of_row;
  const int group = warp / warps_of_row, warp_of_row = warp - group * warps_of_row;
  const int column = warp_of_row * 128 + lane * 4, n = split * p.split_depth + column;
  const int k0 = tile * rows;
  const auto inside = [&](int row) { return n < p.shape.filters && k0 + row < p.shape.channels; };
  const auto place = [&](int row) {
    return static_cast<std::int64_t>(k0 + row) * p.shape.filters + n;
  };
  const auto fetch = [&](int from, int stage) {
    if (from < rows)
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const bool real = inside(from + i * groups);
        const std::int64_t at = real ? place(from + i * groups) : 0;
        const float4* const to = &memory.copies[stage][i][0][threadIdx.x];
        copy16(shared_address(to), u.weights + at, real);
        if (u.mean) copy16(shared_address(to + block_threads), u.mean + at, real);
        if (u.square) copy16(shared_address(to + 2 * block_threads), u.square + at, real);
      }
    copies_commit();
  };
#pragma unroll
  for (int stage = 0; stage < stages; ++stage) fetch(group + stage * at_once * groups, stage);
  wait_for_predecessor();
  // Read once per block: every warp's reads would queue for one line of the L2 cache.
  __shared__ StepScale of_block;
  if (threadIdx.x == block_threads - 1) of_block = StepScale(u);
  load_inputs<samples, x_pitch, block_threads>(p, k0, rows, memory.inputs);
  const ThinGradients<samples> g(p, n, column, group, groups, memory);
  __syncthreads();
  const StepScale step = of_block;
  // The moments are not read again in this step, unlike the weights: they leave the L2 cache first.
  const auto settle = [&](std::int64_t at, float4 gradient, float4 w, float4 m, float4 v) {
    if (step.skips) return;
    store4(u.weights + at, updated(u.rule, step.rate, w, gradient * step.unscale, m, v));
    if (u.mean) __stcs(reinterpret_cast<float4*>(u.mean + at), m);
    if (u.square) __stcs(reinterpret_cast<float4*>(u.square + at), v);
  };
#pragma unroll 1
  for (int from = group, stage = 0; from < rows; from += at_once * groups, stage ^= 1) {
    copies_wait<stages - 1>();
    const float4* const own = &memory.copies[stage][0][0][threadIdx.x];
    float4 w[at_once], m[at_once], v[at_once], gradient[at_once] = {};
#pragma unroll
    for (int i = 0; i < at_once; ++i) w[i] = own[i * 3 * block_threads];
    float sums[at_once * samples];  // (row, sample)
#pragma unroll
    for (int s = 0; s < samples; s += 4) {
      float4 x[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        x[i] = load4(memory.inputs + (from + i * groups) * x_pitch + s);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float4 of_sample = g.at(s + e);
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          add_product(gradient[i], of_sample, of4(x[i], e));
          if (data) sums[i * samples + s + e] = dot(w[i], of_sample);
        }
      }
    }
    if constexpr (data) {
      constexpr int sharing = 32 / (at_once * samples);  // lanes that have the same sum
      const float sum = sum_over_lanes(sums);
      const int row = from + lane / sharing / samples * groups, s = lane / sharing % samples;
      if (lane % sharing == 0) memory.sums[warp_of_row][s][row] = sum;
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      m[i] = u.mean ? own[(i * 3 + 1) * block_threads] : float4{};
      v[i] = u.square ? own[(i * 3 + 2) * block_threads] : float4{};
    }
    fetch(from + stages * at_once * groups, stage);
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (const int row = from + i * groups; inside(row))
        settle(place(row), gradient[i], w[i], m[i], v[i]);
  }
  if (tile == 0 && group == 0 && p.bias && n < p.shape.filters) {
    float4 sum{};
#pragma unroll
    for (int s = 0; s < samples; ++s) sum = sum + g.at(s);
    const std::int64_t at = place(p.shape.channels);
    settle(at, sum, load4(u.weights + at), u.mean ? load4(u.mean + at) : float4{},
           u.square ? load4(u.square + at) : float4{});
  }
  if constexpr (data) {
    __syncthreads();
    float4 v[1] = {};
    constexpr int vectors = rows / 4;
    if (threadIdx.x < samples * vectors)
      for (int i = 0; i < warps_of_row; ++i)
        v[0] = v[0] + load4(memory.sums[i][threadIdx.x / vectors] + threadIdx.x % vectors * 4);
    finish_thin_data<samples, rows>(p, tile, split, v);
  }
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

template <int samples, bool data>
cudaError_t launch_in_place(const ThinUpdate& t, cudaStream_t stream) {
  constexpr int bytes = sizeof(UpdateMemory<samples>);
  static const cudaError_t allowed = allow_shared_memory(thin_update_kernel<samples, data>, bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(thin_update_kernel<samples, data>, t.part.tiles_n * t.part.splits, block_threads,
                bytes, stream, t);
}
template <int samples>
cudaError_t launch_in_place(const ThinUpdate& t, cudaStream_t stream) {
  return t.part.input_gradient ? launch_in_place<samples, true>(t, stream)
                               : launch_in_place<samples, false>(t, stream);
}

}  // namespace

ThinUpdateTiles thin_update_tiles(const ConvShape& shape, std::int64_t samples, const Chip& chip) {
  const auto tiles = [](int size, int tile) { return (size + tile - 1) / tile; };
  constexpr int least = 128;  // a warp has as many
  ThinUpdateTiles found;
  found.samples = samples <= 4 ? 4 : thin_most_samples;
  found.tiles = tiles(shape.channels, thin_update_rows(found.samples));
  for (found.columns = thin_most_columns(found.samples);; found.columns /= 2) {
    found.splits = tiles(shape.filters, found.columns);
    const bool full = 8 * found.splits * found.columns <= 9 * shape.filters;
    const bool many = found.tiles * found.splits >= 2 * chip.multiprocessors;
    if ((full && many) || found.columns == least) return found;
  }
}

cudaError_t launch_thin_update(const ThinUpdate& t, cudaStream_t stream) {
  return t.samples <= 4 ? launch_in_place<4>(t, stream)
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
