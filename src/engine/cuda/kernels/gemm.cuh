#pragma once
#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/gemm_epilogue.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loaders.cuh"
#include "engine/cuda/kernels/math.cuh"

// Every convolution and dense layer, forward and backward, is a matrix product with one of three
// pairs of loaders and one of three epilogues. One launch runs up to three products concurrently,
// so that a layer's two gradients are one node of the graph.
namespace sweetspot::engine::cuda {

template <class M, class T, class A, class B>
__device__ void multiply(A& a, B& b, int begin, int end, typename M::Element* shared,
                         typename T::Sums& sums) {
  using Element = typename M::Element;
  constexpr int a_pitch = (A::along ? T::k : T::m) + Operand<Element, A::along>::pad;
  constexpr int b_pitch = (B::along ? T::k : T::n) + Operand<Element, B::along>::pad;
  constexpr int a_size = (A::along ? T::m : T::k) * a_pitch;
  constexpr int b_size = (B::along ? T::n : T::k) * b_pitch;
  const int warp = threadIdx.x / 32, warp_k = warp / (T::warps_m * T::warps_n);
  const int row = warp % T::warps_m * T::warp_rows;
  const int column = warp / T::warps_m % T::warps_n * 32;

  float4 left[A::At::count], right[B::At::count];
  const auto store = [&](Element* to) {
#pragma unroll
    for (int i = 0; i < A::At::count; ++i)
      M::store(to + A::At::row(i) * a_pitch + A::At::column(), left[i]);
#pragma unroll
    for (int i = 0; i < B::At::count; ++i)
      M::store(to + a_size + B::At::row(i) * b_pitch + B::At::column(), right[i]);
  };
  if constexpr (A::looks_up) {
    a.prepare(begin);
    __syncthreads();
  }
  // A stage is fetched while the one before it is multiplied. One copy of the code does both,
  // from the first stage on: a small product runs through it a few times, and fetching
  // instructions takes it longer than anything else.
#pragma unroll 1
  for (int k = begin, now = 0;; k += T::k, now ^= 1) {
    const bool more = k < end || k == begin;
    if (more) {
      if (!B::weights && k == begin) wait_for_predecessor();
      b.fetch(k, end, right);
      if (B::weights && k == begin) wait_for_predecessor();
      a.fetch(k, end, left);
      if constexpr (A::looks_up) a.prepare(k + T::k);
    }
    if (k > begin) {
      const Element* tile = shared + (now ^ 1) * (a_size + b_size);
      M::template multiply<T::slice, A::along, B::along, T::sixteens>(
          {tile + row * (A::along ? a_pitch : 1), a_pitch},
          {tile + a_size + column * (B::along ? b_pitch : 1), b_pitch}, warp_k * T::slice, sums);
    }
    if (!more) break;
    store(shared + now * (a_size + b_size));
    __syncthreads();
  }
  __syncthreads();  // the epilogue uses the same memory
}

// Adds the splits of a tile in order, in the last of their blocks to arrive; returns false in all
// others. Which block is last depends on timing, the sum does not. `count` vectors per thread, in
// the block's first `holders` threads.
template <int count, int holders>
__device__ bool gather_splits(const GemmPart& p, int tile, int split, float4 (&v)[count]) {
  __shared__ bool last;
  const bool holds = threadIdx.x < holders;
  float4* all = reinterpret_cast<float4*>(p.slices) +
                static_cast<std::int64_t>(tile) * p.splits * count * holders + threadIdx.x;
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (holds) __stcg(all + (split * count + i) * holders, v[i]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(p.tickets + tile, 1u) + 1 == p.splits;
    if (last) p.tickets[tile] = 0;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  // As many loads in flight as there are registers for.
  constexpr int together = count <= 2 ? count : 1, ahead = count <= 2 ? 8 : 4;
#pragma unroll
  for (int i = 0; i < count; i += together) {
    float4 sum[together] = {};
    for (int first = 0; holds && first < p.splits; first += ahead) {
      float4 part[ahead][together];
#pragma unroll
      for (int a = 0; a < ahead; ++a)
#pragma unroll
        for (int k = 0; k < together; ++k)
          part[a][k] = first + a < p.splits ? __ldcg(all + ((first + a) * count + i + k) * holders)
                                            : float4{};
#pragma unroll
      for (int a = 0; a < ahead; ++a)
#pragma unroll
        for (int k = 0; k < together; ++k) sum[k] = sum[k] + part[a][k];
    }
#pragma unroll
    for (int k = 0; k < together; ++k) v[i + k] = sum[k];
  }
  return true;
}

// Leaves a tile's sums in shared memory. If the warps have slices of the depth, their sums are
// added first, in the order of the slices, and so are the splits of the depth among blocks if the
// last of those is to finish: false in the others.
template <class T, bool gathers>
__device__ bool stage_sums(const GemmPart& p, int tile, int split, typename T::Sums& sums,
                           const SumsTile<T::m, T::n>& to) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const bool last_gathers = gathers && p.splits > 1 && !p.clustered;
  if (T::warps_k == 1 && last_gathers)
    if (!gather_splits<4 * T::sixteens, block_threads>(
            p, tile, split, reinterpret_cast<float4(&)[4 * T::sixteens]>(sums)))
      return false;
  constexpr int pitch = SumsTile<T::m, T::n>::pitch, slice = T::m * pitch;
  float* const first =
      to.place(warp % T::warps_m * T::warp_rows + g, warp / T::warps_m % T::warps_n * 32 + 2 * t) +
      warp / (T::warps_m * T::warps_n) * slice;
#pragma unroll
  for (int i = 0; i < 2 * T::sixteens; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      store2(first + 8 * i * pitch + 8 * j, sums[i / 2][j][i % 2 * 2],
             sums[i / 2][j][i % 2 * 2 + 1]);
  if constexpr (T::warps_k > 1) {
    __syncthreads();
    // A sum takes the place of the first slice's, which only this thread reads.
    constexpr int count = T::m / to.together;
    float* const own = to.place(threadIdx.x / to.fours, to.column());
    float4 v[count] = {};
#pragma unroll
    for (int k = 0; k < count; ++k)
#pragma unroll
      for (int i = 0; i < T::warps_k; ++i)
        v[k] = v[k] + load4(own + i * slice + k * to.together * pitch);
    if (last_gathers && !gather_splits<count, block_threads>(p, tile, split, v)) return false;
#pragma unroll
    for (int k = 0; k < count; ++k) store4(own + k * to.together * pitch, v[k]);
  }
  to.complete();
  return true;
}

template <class T, class Columns>
__device__ void finish_bias(const GemmPart& p, int split, int n0, const Columns& b, float* shared) {
  using At = typename Columns::At;
  __syncthreads();
  *reinterpret_cast<float4*>(shared + At::row(0) * T::n + At::column()) = b.total;
  __syncthreads();
  const int n = threadIdx.x;
  if (n >= T::n || n0 + n >= p.shape.filters) return;
  float sum = 0;
  for (int i = 0; i < At::step; ++i) sum += shared[i * T::n + n];
  const std::int64_t depth = p.shape.kernel_h * p.shape.kernel_w * p.shape.channels;
  p.partials[split * p.partial_stride + depth * p.shape.filters + n0 + n] = sum;
}

// A slice of a dense layer's sums, (samples, filters).
template <class Tile>
__device__ void finish_slice(const GemmPart& p, int split, int m0, int n0, const Tile& sums) {
  const int column = Tile::column(), f = n0 + column;
  if (f >= p.shape.filters) return;
  float* const to = p.slices + split * p.slice_stride + f;
  sums.template each<2>(Tile::rows, [&](int row) {
    if (m0 + row < p.count)
      store4(to + static_cast<std::int64_t>(m0 + row) * p.shape.filters, sums.at(row, column));
  });
}

// The input gradient, or one of its slices.
template <bool special, class Tile>
__device__ void finish_data(const GemmPart& p, const Phase& phase, float* to, int m0, int n0,
                            const Tile& sums) {
  const int column = Tile::column(), c = n0 + column;
  if (c >= p.shape.channels) return;
  sums.template each<2>(Tile::rows, [&](int row) {
    const std::int64_t from = row_of_input(p, phase, m0 + row);
    if (from < 0) return;
    const std::int64_t at = from * p.shape.channels + c;
    const float4 v = sums.at(row, column) * p.scale;
    store4(to + at, special ? through_input_function(p, at, v) : v);
  });
}

template <class M, class Tile>
__device__ void finish_weights(const GemmPart& p, int split, int m0, int n0, const Tile& sums) {
  const int column = Tile::column(), f = n0 + column;
  if (f >= p.shape.filters) return;
  const int rows = p.shape.kernel_h * p.shape.kernel_w * p.shape.channels;
  float* const to = p.partials + split * p.partial_stride + f;
  sums.template each<2>(Tile::rows, [&](int row) {
    if (m0 + row >= rows) return;
    const float4 v = sums.at(row, column);
    check_range<M>(p, v);
    store4(to + static_cast<std::int64_t>(m0 + row) * p.shape.filters, v);
  });
}

template <class M, class T, GemmKind kind, bool dense, bool special, bool gathers = false>
__device__ void run_part(const GemmPart& p, int block, typename M::Element* shared) {
  typename T::Sums sums{};
  SumsTile<T::m, T::n> finished{reinterpret_cast<float*>(shared)};
  const bool clustered = gathers && p.clustered;
  if (clustered) block = cluster_index();
  const int rest = p.by_tiles_n.quotient(block), tile_n = block - rest * p.tiles_n;
  int split = p.by_tiles_m.quotient(rest);
  const int tile_m = rest - split * p.tiles_m, m0 = tile_m * T::m, n0 = tile_n * T::n;
  int tile = tile_m * p.tiles_n + tile_n;
  int which = 0;  // of the phases, each with its splits
  if (kind == GemmKind::data && !dense && p.phases > 1) {
    which = clustered ? split : split / p.splits;
    split -= which * p.splits;
  }
  if (clustered) split = finished.rank = cluster_rank(), finished.blocks = p.splits;
  // The reader of the result adds the slices.
  const bool sliced = !gathers && p.splits > 1;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w;
  if constexpr (kind == GemmKind::forward) {
    PatchRows<T, dense> a(p, m0);
    KernelRows<T> b(p, n0);
    const int depth = taps * s.channels, begin = split * p.split_depth;
    multiply<M, T>(a, b, begin, p.splits > 1 ? min(begin + p.split_depth, depth) : depth, shared,
                   sums);
    if (!stage_sums<T, gathers>(p, tile, split, sums, finished)) return;
    if (dense && sliced)
      finish_slice(p, split, m0, n0, finished);
    else
      finish_outputs<special, false>(p, m0, n0, finished);
  } else if constexpr (kind == GemmKind::data) {
    const Phase phase(p, which);
    GradientRows<T, dense> a(p, phase, m0);
    KernelColumns<T, dense> b(p, phase, n0);
    const int depth = dense ? s.filters : phase.depth(p), begin = min(split * p.split_depth, depth);
    multiply<M, T>(a, b, begin, p.splits > 1 ? min(begin + p.split_depth, depth) : depth, shared,
                   sums);
    tile += which * p.tiles_m * p.tiles_n;
    if (!stage_sums<T, gathers>(p, tile, split, sums, finished)) return;
    finish_data<special>(p, phase, sliced ? p.slices + split * p.slice_stride : p.input_gradient,
                         m0, n0, finished);
  } else {
    const int depth = p.count * static_cast<int>(p.by_out.divisor);
    const int begin = min(split * p.split_depth, depth), end = min(begin + p.split_depth, depth);
    __shared__ typename PositionTable<T>::Entry entries[2][dense ? 1 : T::k];
    const PositionTable<T> table{
        reinterpret_cast<typename PositionTable<T>::Entry(&)[2][T::k]>(entries), p, begin, end};
    PatchColumns<T, dense> a(p, table, m0);
    GradientColumns<T, dense> b(p, table, n0);
    multiply<M, T>(a, b, begin, end, shared, sums);
    stage_sums<T, false>(p, tile, split, sums, finished);
    finish_weights<M>(p, split, m0, n0, finished);
    if (tile_m == 0 && p.bias) finish_bias<T>(p, split, n0, b, reinterpret_cast<float*>(shared));
  }
  if (clustered) cluster_barrier();  // the others may still read this block's sums
}

template <class M, GemmKind kind, bool dense, bool special>
__device__ void run_tile(const GemmPart& p, int block, typename M::Element* shared) {
  if (p.tile == TileKind::small)
    return run_part<M, SmallTile, kind, dense, special>(p, block, shared);
  if constexpr (kind != GemmKind::weights)
    if (p.tile == TileKind::middle)
      return run_part<M, MiddleTile, kind, dense, special>(p, block, shared);
  if constexpr (kind != GemmKind::weights && !dense)
    if (p.tile == TileKind::tall)
      return run_part<M, TallTile, kind, dense, special>(p, block, shared);
  run_part<M, WideTile, kind, dense, special>(p, block, shared);
}

template <class M, GemmKind kind, bool special>
__device__ void run_product(const GemmPart& p, int block, typename M::Element* shared) {
  if (p.dense)
    run_tile<M, kind, true, special>(p, block, shared);
  else
    run_tile<M, kind, false, special>(p, block, shared);
}

template <class M, bool special>
__global__ void __launch_bounds__(block_threads, 2)
    forward_kernel(const __grid_constant__ GemmPart part) {
  extern __shared__ __align__(16) unsigned char raw[];
  run_product<M, GemmKind::forward, special>(part, blockIdx.x,
                                             reinterpret_cast<typename M::Element*>(raw));
}

template <class M, bool special>
__global__ void __launch_bounds__(block_threads, 2)
    backward_kernel(const __grid_constant__ GemmParts parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<typename M::Element*>(raw);
  int block = blockIdx.x;
  if (block < parts.data_blocks)
    return run_product<M, GemmKind::data, special>(parts.data, block, shared);
  block -= parts.data_blocks;
  if (block < parts.weight_blocks[0])
    return run_product<M, GemmKind::weights, false>(parts.weights[0], block, shared);
  run_product<M, GemmKind::weights, false>(parts.weights[1], block - parts.weight_blocks[0],
                                           shared);
}

// Products that run alone have their own kernels: the registers of large tiles would cost the small
// ones their second block, and the code that gathers splits takes time to load even if unused.
template <class M, class T>
constexpr int blocks_at_once = std::is_same_v<M, Fp32>&& T::warp_rows == 64 ? 1 : 2;
template <class M, class T, GemmKind kind, bool dense, bool special>
__global__ void __launch_bounds__(block_threads, blocks_at_once<M, T>)
    alone_kernel(const __grid_constant__ GemmPart part) {
  extern __shared__ __align__(16) unsigned char raw[];
  constexpr bool gathers = kind != GemmKind::weights;
  run_part<M, T, kind, dense, special, gathers>(part, blockIdx.x,
                                                reinterpret_cast<typename M::Element*>(raw));
}

// Two buffers for both tiles in their largest layout, or the sums.
template <class M, class T>
constexpr int tile_bytes() {
  using Element = typename M::Element;
  constexpr int along = Operand<Element, true>::pad, across = Operand<Element, false>::pad;
  constexpr int a = T::m * (T::k + along) > T::k * (T::m + across) ? T::m * (T::k + along)
                                                                   : T::k * (T::m + across);
  constexpr int b = T::n * (T::k + along) > T::k * (T::n + across) ? T::n * (T::k + along)
                                                                   : T::k * (T::n + across);
  constexpr int operands = 2 * (a + b) * static_cast<int>(sizeof(Element));
  constexpr int sums = T::warps_k * SumsTile<T::m, T::n>::bytes;
  return operands > sums ? operands : sums;
}

template <class M>
int bytes_of(TileKind tile) {
  return tile == TileKind::small    ? tile_bytes<M, SmallTile>()
         : tile == TileKind::middle ? tile_bytes<M, MiddleTile>()
         : tile == TileKind::tall   ? tile_bytes<M, TallTile>()
                                    : tile_bytes<M, WideTile>();
}

template <class Kernel>
cudaError_t allow_shared_memory(Kernel kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <class M>
int most_tile_bytes() {
  int most = 0;
  for (const TileKind tile : {TileKind::small, TileKind::middle, TileKind::tall, TileKind::wide})
    most = bytes_of<M>(tile) > most ? bytes_of<M>(tile) : most;
  return most;
}

// A block for every tile, phase and split.
template <class Argument>
cudaError_t launch_tiles(void (*kernel)(Argument), const GemmPart& p, int threads, int bytes,
                         cudaStream_t stream, const Argument& argument) {
  const int blocks = p.phases * p.tiles_m * p.tiles_n * p.splits;
  return p.clustered
             ? launch_in_clusters(kernel, blocks, p.splits, threads, bytes, stream, argument)
             : launch(kernel, blocks, threads, bytes, stream, argument);
}

template <class M, class T, GemmKind kind, bool dense, bool special>
cudaError_t launch_alone_with(const GemmPart& p, cudaStream_t stream) {
  constexpr auto kernel = alone_kernel<M, T, kind, dense, special>;
  constexpr int bytes = tile_bytes<M, T>();
  static const cudaError_t allowed = allow_shared_memory(kernel, bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch_tiles(kernel, p, block_threads, bytes, stream, p);
}
template <class M, class T, GemmKind kind, bool dense>
cudaError_t launch_alone_as(const GemmPart& p, cudaStream_t stream) {
  if constexpr (kind != GemmKind::weights)
    if (ends_specially(p)) return launch_alone_with<M, T, kind, dense, true>(p, stream);
  return launch_alone_with<M, T, kind, dense, false>(p, stream);
}
template <class M, GemmKind kind>
cudaError_t launch_alone(const GemmPart& p, cudaStream_t stream) {
  if constexpr (kind != GemmKind::weights)
    if (p.tile == TileKind::small)
      return p.dense ? launch_alone_as<M, SmallTile, kind, true>(p, stream)
                     : launch_alone_as<M, SmallTile, kind, false>(p, stream);
  return p.dense ? launch_alone_as<M, LargeTile, kind, true>(p, stream)
                 : launch_alone_as<M, LargeTile, kind, false>(p, stream);
}

template <class M, bool special>
cudaError_t launch_forward_as(const GemmPart& p, cudaStream_t stream) {
  constexpr auto kernel = forward_kernel<M, special>;
  static const cudaError_t allowed = allow_shared_memory(kernel, most_tile_bytes<M>());
  if (allowed != cudaSuccess) return allowed;
  return launch(kernel, p.tiles_m * p.tiles_n * p.splits, block_threads, bytes_of<M>(p.tile),
                stream, p);
}
template <class M>
cudaError_t launch_forward_with(const GemmPart& p, cudaStream_t stream) {
  if (runs_alone(p)) return launch_alone<M, GemmKind::forward>(p, stream);
  return ends_specially(p) ? launch_forward_as<M, true>(p, stream)
                           : launch_forward_as<M, false>(p, stream);
}

template <class M, bool special>
cudaError_t launch_backward_as(const GemmParts& parts, cudaStream_t stream) {
  constexpr auto kernel = backward_kernel<M, special>;
  static const cudaError_t allowed = allow_shared_memory(kernel, most_tile_bytes<M>());
  if (allowed != cudaSuccess) return allowed;
  int bytes = parts.data_blocks ? bytes_of<M>(parts.data.tile) : 0;
  for (int i = 0; i < 2; ++i)
    if (parts.weight_blocks[i] && bytes_of<M>(parts.weights[i].tile) > bytes)
      bytes = bytes_of<M>(parts.weights[i].tile);
  return launch(kernel, parts.data_blocks + parts.weight_blocks[0] + parts.weight_blocks[1],
                block_threads, bytes, stream, parts);
}
template <class M>
cudaError_t launch_backward_with(const GemmParts& parts, cudaStream_t stream) {
  if (parts.data_blocks && runs_alone(parts.data))
    return launch_alone<M, GemmKind::data>(parts.data, stream);
  if (parts.weight_blocks[0] && runs_alone(parts.weights[0]))
    return launch_alone<M, GemmKind::weights>(parts.weights[0], stream);
  return parts.data_blocks && ends_specially(parts.data)
             ? launch_backward_as<M, true>(parts, stream)
             : launch_backward_as<M, false>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
