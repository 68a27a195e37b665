#include <algorithm>

#include "engine/cuda/kernels/norm_sums.cuh"

// Batch normalisation of any number of rows, in two kernels. Every block of the second adds the
// slices of the first's sums, in order, for its own features.
namespace sweetspot::engine::cuda {
namespace {

struct OneBlock {
  __device__ static void enter() {}
  __device__ static float over_blocks(float sum) { return sum; }
  __device__ static bool stores() { return true; }
  __device__ static int slice() { return static_cast<int>(blockIdx.y); }
};

struct Coefficients {
  float values[3][4 * most_norm_columns];
  __device__ float4 of(int which, int column) const { return load4(&values[which][4 * column]); }
};

// A thread's own feature of the block's, as long as there are any.
struct OwnFeature {
  int feature;
  bool real;
  __device__ explicit OwnFeature(const NormPass& n) {
    feature = static_cast<int>(blockIdx.x) * 4 * n.shares.columns + static_cast<int>(threadIdx.x);
    real = static_cast<int>(threadIdx.x) < 4 * n.shares.columns && feature < n.padded;
  }
};

// The two totals of this thread's own feature.
__device__ float2 over_slices(const NormPass& n) {
  __shared__ float shared[norm_threads];
  const Outputs o(n);
  float sum = 0;
  if (o.real(n)) {
    const float* from = n.partials + o.place(n);
#pragma unroll 4
    for (int slice = o.part; slice < n.shares.slices; slice += o.parts)
      sum += __ldcg(from + std::int64_t{slice} * 2 * n.padded);
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  float2 totals{};
  if (OwnFeature(n).real)
#pragma unroll 4
    for (int part = 0; part < o.parts; ++part) {
      const float* at = &shared[part * o.width + threadIdx.x / 4 * 8 + threadIdx.x % 4];
      totals.x += at[0], totals.y += at[4];
    }
  return totals;
}

// The second pass, or the only one in evaluation. Its input is older than the first pass, so it
// loads the first rows while that one runs.
template <bool half, bool pooled, bool smooth>
__global__ void __launch_bounds__(norm_threads, 2)
    norm_apply_kernel(const __grid_constant__ NormPass n) {
  __shared__ __align__(16) Coefficients coefficients;
  constexpr int each = pooled ? 4 : 1, at_once = pooled ? 1 : 4;
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  Raw4<half> x[at_once * each];
  const auto load = [&](int unit) {
    if (unit < p.end)
#pragma unroll
      for (int i = 0; i < at_once; ++i)
#pragma unroll
        for (int slot = 0; slot < each; ++slot)
          x[i * each + slot] =
              load_raw4<half>(n.input, before_pooling<pooled>(n, p.unit(unit, i), slot, p.feature));
  };
  int unit = p.first();
  if (n.training) load(unit);
  const OwnFeature own(n);
  float gamma = 1, beta = 0, moving_mean = 0, moving_variance = 0;
  if (own.real) {
    if (n.gamma) gamma = n.gamma[own.feature];
    if (n.beta) beta = n.beta[own.feature];
    moving_mean = n.moving_mean[own.feature], moving_variance = n.moving_variance[own.feature];
  }
  wait_for_predecessor();
  if (!n.training) load(unit);
  const float2 totals = n.training ? over_slices(n) : float2{};
  if (own.real) {
    float mean = moving_mean, scale = rsqrtf(moving_variance + n.epsilon);
    if (n.training) {
      const Statistics s(n.pivots[own.feature], totals.x, totals.y, 1 / static_cast<float>(n.rows));
      mean = s.mean, scale = s.scale(n);
      if (blockIdx.y == 0) s.store(n, own.feature, moving_mean, moving_variance);
    }
    coefficients.values[0][threadIdx.x] = mean;
    coefficients.values[1][threadIdx.x] = scale * gamma;
    coefficients.values[2][threadIdx.x] = beta;
  }
  __syncthreads();
  const float4 mean = coefficients.of(0, p.column), factor = coefficients.of(1, p.column);
  const float4 shift = coefficients.of(2, p.column);
  const auto value = [&](Raw4<half> v) {
    return norm_function<smooth>(n.function,
                                 (floats_of(v, n.input_terms.fp16) - mean) * factor + shift);
  };
#pragma unroll 1
  while (unit < p.end) {
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (unit + i * p.groups < p.end) {
        const std::int64_t at = std::int64_t{unit + i * p.groups} * n.padded + p.feature;
        float4 y = value(x[i * each]);
        if constexpr (pooled) {
          uchar4 code{};
#pragma unroll
          for (int slot = 1; slot < 4; ++slot)
            keep_larger(y, code, value(x[slot]), static_cast<std::uint8_t>(slot));
          if (n.code) *reinterpret_cast<uchar4*>(n.code + at) = code;
        }
        store_norm4(n.output, n.output_terms, at, smooth ? only_channels(n, p.feature, y) : y);
      }
    unit += at_once * p.groups;
    load(unit);
  }
}

// Its input and its gradient are older than the first pass, too.
template <bool half_x, bool half_g, bool pooled, bool smooth>
__global__ void __launch_bounds__(norm_threads, 2)
    norm_apply_backward_kernel(const __grid_constant__ NormPass n) {
  __shared__ __align__(16) Coefficients coefficients;
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  GradientUnits<pooled, half_x, half_g> units;
  int unit = p.first();
  units.load_input(n, p, unit), units.load_gradient(n, p, unit);
  const OwnFeature own(n);
  float scale = 0, gamma = 1;
  if (own.real) {
    scale = n.scale[own.feature];
    if (n.gamma) gamma = n.gamma[own.feature];
  }
  wait_for_predecessor();
  const float2 totals = over_slices(n);
  if (own.real) {
    const GradientFactors factors(totals.x, totals.y, scale, gamma, 1 / static_cast<float>(n.rows));
    coefficients.values[0][threadIdx.x] = factors.by_gradient;
    coefficients.values[1][threadIdx.x] = factors.by_distance;
    coefficients.values[2][threadIdx.x] = factors.constant;
    if (blockIdx.y == 0) factors.store(n, own.feature, totals.x);
  }
  if (!n.input_gradient) return;
  const Features f(n, p.feature);
  __syncthreads();
  const float4 by_gradient = coefficients.of(0, p.column);
  const float4 by_distance = coefficients.of(1, p.column), constant = coefficients.of(2, p.column);
#pragma unroll 1
  while (unit < p.end) {
    units.template each_of<smooth>(n, p, f, unit, [&](std::int64_t place, const GradientAt& at) {
      store_norm4(n.input_gradient, n.input_gradient_terms, place,
                  by_gradient * at.g + (by_distance * at.x + constant));
    });
    unit += units.count * p.groups;
    units.load_input(n, p, unit), units.load_gradient(n, p, unit);
  }
}

// The second pass may have more blocks, but each adds all slices.
dim3 second_blocks_of(const NormPass& n, int slices) {
  constexpr int rows_each = 4, more = 2;
  const int rows = n.pooled ? n.rows / 4 : n.rows, groups = norm_threads / n.shares.columns;
  return norm_blocks(n, std::clamp(rows / (groups * rows_each), slices, more * slices));
}
int blocks_of(const NormPass& n) { return n.shares.slices * n.shares.cluster; }

cudaError_t launch_sums(const NormPass& n, bool backward, cudaStream_t stream) {
  if (n.shares.cluster > 1) return launch_norm_sums_in_clusters(n, backward, stream);
  return launch(sums_kernel<OneBlock>(n, backward), norm_blocks(n, n.shares.slices), norm_threads,
                0, stream, n);
}

}  // namespace

NormShares share_norm(int rows, int padded, const Chip& chip) {
  const int vectors = padded / 4;
  const auto columns_of = [&](int most) {
    const int tiles = (vectors + most - 1) / most;
    return (vectors + tiles - 1) / tiles;
  };
  NormShares s;
  s.columns = columns_of(most_norm_columns);
  const int groups = norm_threads / s.columns, tiles = (vectors + s.columns - 1) / s.columns;
  // One block per multiprocessor leaves room for those of the second pass, each of which adds all
  // slices; a cluster's are one.
  const int rows_each = chip.warpgroups ? 2 : 8;
  s.slices = std::clamp(chip.multiprocessors / tiles, 1, std::max(1, rows / (groups * rows_each)));
  if (chip.warpgroups && s.slices >= 2 * norm_cluster_blocks)
    s.cluster = norm_cluster_blocks, s.slices /= s.cluster;
  return s;
}

cudaError_t launch_norm(const NormPass& n, cudaStream_t stream) {
  if (n.training)
    if (const cudaError_t error = launch_sums(n, false, stream); error != cudaSuccess) return error;
  const NormKernel kernel = with_constants(
      [](auto half, auto pooled, auto smooth) -> NormKernel {
        return norm_apply_kernel<decltype(half)::value, decltype(pooled)::value,
                                 decltype(smooth)::value>;
      },
      n.input_terms.terms > 0, n.pooled, is_smooth(n));
  return launch(kernel, second_blocks_of(n, blocks_of(n)), norm_threads, 0, stream, n);
}

cudaError_t launch_norm_backward(const NormPass& n, cudaStream_t stream) {
  if (const cudaError_t error = launch_sums(n, true, stream); error != cudaSuccess) return error;
  const NormKernel kernel = with_constants(
      [](auto x, auto g, auto pooled, auto smooth) -> NormKernel {
        return norm_apply_backward_kernel<decltype(x)::value, decltype(g)::value,
                                          decltype(pooled)::value, decltype(smooth)::value>;
      },
      n.input_terms.terms > 0, n.gradient_terms.terms > 0, n.pooled, is_smooth(n));
  return launch(kernel, n.input_gradient ? second_blocks_of(n, blocks_of(n)) : norm_blocks(n, 1),
                norm_threads, 0, stream, n);
}

}  // namespace sweetspot::engine::cuda
