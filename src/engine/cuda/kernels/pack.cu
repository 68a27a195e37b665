#include <algorithm>

#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/grid_stride.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/packing.h"
#include "engine/cuda/kernels/split_floats.cuh"

// Operands for the products of packed_product.cuh.
namespace sweetspot::engine::cuda {
namespace {

constexpr int pack_threads = 256;

__device__ float4 rest_of(float4 v) {
  return each(v, [](float e) { return bf16_rest(e); });
}

__device__ void store_terms(std::uint16_t* to, std::int64_t term, int terms, bool fp16, float4 a,
                            float4 b) {
  if (fp16) {
    *reinterpret_cast<uint4*>(to) = {Fp16::pack(a.x, a.y), Fp16::pack(a.z, a.w),
                                     Fp16::pack(b.x, b.y), Fp16::pack(b.z, b.w)};
    return;
  }
  for (int i = 0; i < terms; ++i) {
    *reinterpret_cast<uint4*>(to + i * term) = {Bf16::pack(a.x, a.y), Bf16::pack(a.z, a.w),
                                                Bf16::pack(b.x, b.y), Bf16::pack(b.z, b.w)};
    a = rest_of(a), b = rest_of(b);
  }
}

__host__ __device__ std::int64_t eights_of(const Packing& job) {
  return job.rows * (job.packed / 8);
}

__device__ void pack(const Packings& p, const Packing& job) {
  const std::int64_t all = eights_of(job);
  for (std::int64_t eight = std::int64_t{blockIdx.x} * pack_threads + threadIdx.x; eight < all;
       eight += std::int64_t{gridDim.x} * pack_threads) {
    std::int64_t from = eight * 8;
    bool left = true, right = true;
    if (job.width < job.packed) {
      const int row = job.by_packed.quotient(static_cast<int>(eight));
      const int at = static_cast<int>(eight - std::int64_t{row} * (job.packed / 8)) * 8;
      from = std::int64_t{row} * job.width + at;
      left = at < job.width, right = at + 4 < job.width;
    }
    store_terms(job.to + eight * 8, job.term, p.terms, p.fp16,
                left ? load4(job.from + from) : float4{},
                right ? load4(job.from + from + 4) : float4{});
  }
}

// Weights are older than the predecessor, and all that read their last copy has ended.
__global__ void __launch_bounds__(pack_threads) pack_kernel(const __grid_constant__ Packings p) {
  pack(p, p.kernel);
  wait_for_predecessor();
  pack(p, p.input);
}

// A block has up to 32 groups of eight columns, and its threads iterate over the rows of its slice.
struct ColumnShare {
  int eights, lanes, groups, rows;
};
__host__ __device__ ColumnShare share_of(int filters) {
  ColumnShare s{};
  s.eights = filters / 8, s.lanes = s.eights < 32 ? s.eights : 32;
  s.groups = (s.eights + s.lanes - 1) / s.lanes, s.rows = pack_threads / s.lanes;
  return s;
}

__device__ float4 routed(float4 g, uchar4 code, int slot) {
  return {code.x == slot ? g.x : 0.f, code.y == slot ? g.y : 0.f, code.z == slot ? g.z : 0.f,
          code.w == slot ? g.w : 0.f};
}

__global__ void __launch_bounds__(pack_threads)
    pack_gradient_kernel(const __grid_constant__ GradientPacking p) {
  wait_for_predecessor();
  const ColumnShare share = share_of(p.filters);
  const int lane = threadIdx.x % share.lanes, first = threadIdx.x / share.lanes;
  const int eight = blockIdx.x * share.lanes + lane, column = eight * 8;
  const bool real = first < share.rows && eight < share.eights;
  const int length = (p.rows + p.slices - 1) / p.slices;
  const int begin = min(static_cast<int>(blockIdx.y) * length, p.rows);
  const int end = min(begin + length, p.rows);
  float4 left{}, right{};
#pragma unroll 2
  for (int row = begin + first; real && row < end; row += share.rows) {
    const std::int64_t at = std::int64_t{row} * p.filters + column;
    const float4 a = load4(p.gradient + at), b = load4(p.gradient + at + 4);
    uchar4 code_a{}, code_b{};
    if (p.code) {
      code_a = *reinterpret_cast<const uchar4*>(p.code + at);
      code_b = *reinterpret_cast<const uchar4*>(p.code + at + 4);
    }
    if (p.pool == 2) {
      const int sample = p.by_windows.quotient(row), window = row - sample * p.by_windows.divisor;
      const int y = p.by_window_w.quotient(window), x = window - y * p.by_window_w.divisor;
      const std::int64_t corner = (std::int64_t{sample} * p.out_h + 2 * y) * p.out_w + 2 * x;
#pragma unroll
      for (int slot = 0; slot < 4; ++slot) {
        const float4 u = routed(a, code_a, slot), v = routed(b, code_b, slot);
        left = left + u, right = right + v;
        store_terms(p.to + (corner + slot / 2 * p.out_w + slot % 2) * p.filters + column, p.term,
                    p.terms, p.fp16, u, v);
      }
    } else {
      const float4 u = routed(a, code_a, 0), v = routed(b, code_b, 0);
      left = left + u, right = right + v;
      if (p.to) store_terms(p.to + at, p.term, p.terms, p.fp16, u, v);
      if (p.floats) store4(p.floats + at, u), store4(p.floats + at + 4, v);
    }
  }
  if (!p.sums) return;
  __shared__ float4 sums[2][pack_threads];
  sums[0][threadIdx.x] = left, sums[1][threadIdx.x] = right;
  __syncthreads();
  if (first > 0 || !real) return;
  for (int other = 1; other < share.rows; ++other) {
    left = left + sums[0][other * share.lanes + lane];
    right = right + sums[1][other * share.lanes + lane];
  }
  float* to = p.sums + std::int64_t{blockIdx.y} * p.filters + column;
  store4(to, left), store4(to + 4, right);
}

// A block has a slice of the tiles and 64 columns; its four groups of threads have every fourth
// tile.
__global__ void __launch_bounds__(pack_threads)
    tile_sums_kernel(const __grid_constant__ TileSums t) {
  constexpr int columns = 64, groups = pack_threads / columns;
  __shared__ float sums[groups][columns];
  wait_for_predecessor();
  const int column = threadIdx.x % columns, group = threadIdx.x / columns;
  const int channel = blockIdx.x * columns + column;
  const int share = (t.tiles + tile_sum_slices - 1) / tile_sum_slices;
  const int begin = static_cast<int>(blockIdx.y) * share, end = min(begin + share, t.tiles);
  float sum = 0;
  if (channel < t.channels)
#pragma unroll 8
    for (int tile = begin + group; tile < end; tile += groups)
      sum += t.sums[std::int64_t{tile} * t.channels + channel];
  sums[group][column] = sum;
  __syncthreads();
  if (group > 0 || channel >= t.channels) return;
#pragma unroll
  for (int other = 1; other < groups; ++other) sum += sums[other][column];
  t.to[std::int64_t{blockIdx.y} * t.channels + channel] = sum;
}

__global__ void __launch_bounds__(pack_threads) finish_kernel(const __grid_constant__ Finishing d) {
  wait_for_predecessor();
  EACH(i, d.rows * (d.filters / 4)) {
    const std::int64_t at = 4 * i;
    const float4 x = load4(d.value + at);
    float v[4] = {x.x, x.y, x.z, x.w};
    std::uint8_t code[4];
    const auto row =
        static_cast<int>(d.few ? d.by_quads.quotient(static_cast<int>(i)) : i / (d.filters / 4));
    const int n = static_cast<int>(at - std::int64_t{row} * d.filters);
    const int sample = d.by_positions.quotient(row);
    const int position = row - sample * static_cast<int>(d.by_positions.divisor);
    const int y = d.by_width.quotient(position);
    const int column = position - y * static_cast<int>(d.by_width.divisor);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (d.relu) v[e] = rectified(v[e]);
      code[e] = d.relu && v[e] == 0 ? no_gradient : 0;
      if (!d.dropout.threshold) continue;
      const bool kept = survives(d.dropout, sample,
                                 (y * d.dropout.full_width + column) * d.dropout.channels + n + e);
      v[e] = kept ? v[e] * d.dropout.scale : 0.f;
      if (!kept) code[e] = no_gradient;
    }
    store4(d.value + at, {v[0], v[1], v[2], v[3]});
    if (d.code) *reinterpret_cast<uchar4*>(d.code + at) = {code[0], code[1], code[2], code[3]};
  }
}

}  // namespace

cudaError_t launch_packing(const Packings& p, cudaStream_t stream) {
  const std::int64_t eights = std::max(eights_of(p.input), eights_of(p.kernel));
  constexpr std::int64_t most = 16384;  // blocks
  const std::int64_t blocks = (eights + pack_threads - 1) / pack_threads;
  return launch(pack_kernel, static_cast<int>(blocks < most ? blocks : most), pack_threads, 0,
                stream, p);
}
cudaError_t launch_tile_sums(const TileSums& t, cudaStream_t stream) {
  constexpr int columns = 64;
  return launch(tile_sums_kernel, dim3((t.channels + columns - 1) / columns, tile_sum_slices),
                pack_threads, 0, stream, t);
}
cudaError_t launch_finishing(const Finishing& d, cudaStream_t stream) {
  return launch(finish_kernel, blocks_for(d.rows * (d.filters / 4)), pack_threads, 0, stream, d);
}
cudaError_t launch_gradient_packing(const GradientPacking& p, cudaStream_t stream) {
  return launch(pack_gradient_kernel, dim3(share_of(p.filters).groups, p.slices), pack_threads, 0,
                stream, p);
}

}  // namespace sweetspot::engine::cuda
