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
  if (B::weights) b.fetch(begin, end, right);
  if constexpr (A::looks_up) {
    a.prepare(begin), a.prepare(begin + T::k);
    __syncthreads();
  }
  wait_for_predecessor();
  if (!B::weights) b.fetch(begin, end, right);
  a.fetch(begin, end, left);
  store(shared);
  __syncthreads();
  int now = 0;
  for (int k = begin; k < end; k += T::k) {
    const bool more = k + T::k < end;
    if (more) a.fetch(k + T::k, end, left), b.fetch(k + T::k, end, right);
    if constexpr (A::looks_up) a.prepare(k + 2 * T::k);
    const Element* tile = shared + now * (a_size + b_size);
    M::template multiply<T::slice, A::along, B::along, T::sixteens>(
        {tile + row * (A::along ? a_pitch : 1), a_pitch},
        {tile + a_size + column * (B::along ? b_pitch : 1), b_pitch}, warp_k * T::slice, sums);
    now ^= 1;
    if (more) store(shared + now * (a_size + b_size));
    __syncthreads();
  }
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

// Passes every four rows and two columns to `finish(group of 32 rows, g, column, values)`. If the
// warps have slices of the depth, their sums are added first, in the order of the slices, and so
// are the splits of the depth among blocks, if the last of those is to finish.
template <class T, bool gathers, class Finish>
__device__ void each_finished(const GemmPart& p, int tile, int split, typename T::Sums& sums,
                              void* shared, int m0, int n0, Finish finish) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  if constexpr (T::warps_k == 1) {
    if constexpr (gathers)
      if (p.splits > 1 && !gather_splits<4 * T::sixteens, block_threads>(
                              p, tile, split, reinterpret_cast<float4(&)[4 * T::sixteens]>(sums)))
        return;
    const int group = m0 + warp % T::warps_m * T::warp_rows;
    const int column = n0 + warp / T::warps_m * 32;
    // From local memory in a loop: unrolled, the epilogue would be up to eight copies of its code,
    // and fetching instructions that run once takes longer than all else in a small product.
    constexpr int parts = 2 * T::sixteens;
    Finished staged[parts];
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          staged[part][i][e] = sums[part / 4 * 2 + i / 2][part % 4][i % 2 * 2 + e];
#pragma unroll 1
    for (int part = 0; part < parts; ++part)
      finish(group + part / 4 * 32, g, column + part % 4 * 8 + 2 * t, staged[part]);
  } else {
    float2* slices = static_cast<float2*>(shared);  // (warp, j, i, lane)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        slices[((warp * 4 + j) * 4 + i) * 32 + lane] = {sums[i / 2][j][i % 2 * 2],
                                                        sums[i / 2][j][i % 2 * 2 + 1]};
    __syncthreads();
    constexpr int finishing = 4;  // warps
    Finished v{};
    if (warp < finishing)
#pragma unroll
      for (int slice = 0; slice < T::warps_k; ++slice)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 part = slices[((slice * 4 + warp) * 4 + i) * 32 + lane];
          v[i][0] += part.x, v[i][1] += part.y;
        }
    if (gathers && p.splits > 1) {
      float4 both[2] = {{v[0][0], v[0][1], v[1][0], v[1][1]}, {v[2][0], v[2][1], v[3][0], v[3][1]}};
      if (!gather_splits<2, 32 * finishing>(p, tile, split, both)) return;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        v[2 * i][0] = both[i].x, v[2 * i][1] = both[i].y, v[2 * i + 1][0] = both[i].z,
              v[2 * i + 1][1] = both[i].w;
    }
    if (warp < finishing) finish(m0, g, n0 + 8 * warp + 2 * t, v);
  }
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

template <class M, class T, GemmKind kind, bool dense, bool special, bool gathers = false>
__device__ void run_part(const GemmPart& p, int block, typename M::Element* shared) {
  typename T::Sums sums{};
  const int rest = p.by_tiles_n.quotient(block), tile_n = block - rest * p.tiles_n;
  int split = p.by_tiles_m.quotient(rest);
  const int tile_m = rest - split * p.tiles_m, m0 = tile_m * T::m, n0 = tile_n * T::n;
  int tile = tile_m * p.tiles_n + tile_n;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w;
  if constexpr (kind == GemmKind::forward) {
    PatchRows<T, dense> a(p, m0);
    KernelRows<T> b(p, n0);
    const int depth = taps * s.channels, begin = split * p.split_depth;
    multiply<M, T>(a, b, begin, p.splits > 1 ? min(begin + p.split_depth, depth) : depth, shared,
                   sums);
    each_finished<T, gathers>(p, tile, split, sums, shared, m0, n0,
                              [&](int group, int g, int n, Finished& v) {
                                if (!gathers && p.splits > 1)
                                  finish_slice(p, split, p.count, s.filters, group, g, n, v);
                                else
                                  finish_forward<special, T::warps_k == 1>(p, group, g, n, v);
                              });
  } else if constexpr (kind == GemmKind::data) {
    // The splits of one phase are adjacent.
    const int which = dense || p.phases == 1 ? 0 : split / p.splits;
    split -= which * p.splits;
    const Phase phase(p, which);
    GradientRows<T, dense> a(p, phase, m0);
    KernelColumns<T, dense> b(p, phase, n0);
    const int depth = dense ? s.filters : phase.depth(p), begin = min(split * p.split_depth, depth);
    multiply<M, T>(a, b, begin, p.splits > 1 ? min(begin + p.split_depth, depth) : depth, shared,
                   sums);
    tile += which * p.tiles_m * p.tiles_n;
    each_finished<T, gathers>(p, tile, split, sums, shared, m0, n0,
                              [&](int group, int g, int n, Finished& v) {
                                finish_data<dense, special>(p, phase, split, group, g, n, v);
                              });
  } else {
    const int depth = p.count * static_cast<int>(p.by_out.divisor);
    const int begin = min(split * p.split_depth, depth), end = min(begin + p.split_depth, depth);
    __shared__ typename PositionTable<T>::Entry entries[2][dense ? 1 : T::k];
    const PositionTable<T> table{
        reinterpret_cast<typename PositionTable<T>::Entry(&)[2][T::k]>(entries), p, begin, end};
    PatchColumns<T, dense> a(p, table, m0);
    GradientColumns<T, dense> b(p, table, n0);
    multiply<M, T>(a, b, begin, end, shared, sums);
    each_finished<T, gathers>(
        p, tile, split, sums, shared, m0, n0,
        [&](int group, int g, int n, Finished& v) { finish_weights<M>(p, split, group, g, n, v); });
    if (tile_m == 0 && p.bias) finish_bias<T>(p, split, n0, b, reinterpret_cast<float*>(shared));
  }
}

template <class M, GemmKind kind, bool dense, bool special>
__device__ void run_tile(const GemmPart& p, int block, typename M::Element* shared) {
  if (p.tile == TileKind::small)
    return run_part<M, SmallTile, kind, dense, special>(p, block, shared);
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

// Two buffers for both tiles in their largest layout.
template <class M, class T>
constexpr int tile_bytes() {
  using Element = typename M::Element;
  constexpr int along = Operand<Element, true>::pad, across = Operand<Element, false>::pad;
  constexpr int a = T::m * (T::k + along) > T::k * (T::m + across) ? T::m * (T::k + along)
                                                                   : T::k * (T::m + across);
  constexpr int b = T::n * (T::k + along) > T::k * (T::n + across) ? T::n * (T::k + along)
                                                                   : T::k * (T::n + across);
  return 2 * (a + b) * static_cast<int>(sizeof(Element));
}

template <class M>
int bytes_of(TileKind tile) {
  return tile == TileKind::small  ? tile_bytes<M, SmallTile>()
         : tile == TileKind::tall ? tile_bytes<M, TallTile>()
                                  : tile_bytes<M, WideTile>();
}

template <class Kernel>
cudaError_t allow_shared_memory(Kernel kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <class M>
constexpr int most_tile_bytes() {
  return tile_bytes<M, SmallTile>() > tile_bytes<M, TallTile>() ? tile_bytes<M, SmallTile>()
                                                                : tile_bytes<M, TallTile>();
}

template <class M, class T, GemmKind kind, bool dense, bool special>
cudaError_t launch_alone_with(const GemmPart& p, cudaStream_t stream) {
  constexpr auto kernel = alone_kernel<M, T, kind, dense, special>;
  constexpr int bytes = tile_bytes<M, T>();
  static const cudaError_t allowed = allow_shared_memory(kernel, bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(kernel, p.phases * p.tiles_m * p.tiles_n * p.splits, block_threads, bytes, stream,
                p);
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
