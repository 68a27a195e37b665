#include <algorithm>
#include <type_traits>

#include "engine/cuda/kernels/norm.cuh"

// Batch normalisation of any number of rows, in two kernels. Each block of the first writes its
// sums; the last one to finish, determined by an integer counter, adds them in the order of the
// blocks, so the result depends only on the shape.
namespace sweetspot::engine::cuda {
namespace {

// Whether this is the last of the blocks that share these columns, so that all others' results are
// visible.
__device__ bool last_of_slices(const NormPass& n) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(n.tickets + blockIdx.x, 1u) + 1 == n.slices;
    if (last) n.tickets[blockIdx.x] = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

// Merges the slices, each group those of its turn, with several loads in flight; `made(slice,
// first, second)` makes a T of the two vectors of a slice.
template <class T, class Made>
__device__ T over_slices(const NormPass& n, const Place& p, Made made) {
  constexpr int at_once = 4;
  T all{};
  for (int slice = p.group; p.real && slice < n.slices; slice += at_once * p.groups) {
    float4 parts[at_once][2];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int which = min(slice + i * p.groups, n.slices - 1);
      const float* from = n.partials + std::int64_t{2} * which * n.padded + p.feature;
      parts[i][0] = load4_shared(from), parts[i][1] = load4_shared(from + n.padded);
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (slice + i * p.groups < n.slices)
        all = merged(all, made(slice + i * p.groups, parts[i][0], parts[i][1]));
  }
  return all;
}

template <bool half>
__global__ void __launch_bounds__(threads) norm_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<Moments*>(raw);
  wait_for_predecessor();
  const Place p(n, n.rows);
  const bool holds = p.real && p.group == 0;
  float4 moving_mean{}, moving_variance{};  // loaded before they are needed
  if (holds)
    moving_mean = load4(n.moving_mean + p.feature),
    moving_variance = load4(n.moving_variance + p.feature);
  Moments m =
      over_groups(moments_of<half>(n, p), p, min(p.groups, p.end - p.begin), n.columns, shared);
  float* mine = n.partials + std::int64_t{2} * blockIdx.y * n.padded + p.feature;
  if (holds) store4(mine, m.mean), store4(mine + n.padded, m.square);
  if (!last_of_slices(n)) return;
  m = over_slices<Moments>(n, p, [&](int slice, float4 mean, float4 square) {
    return Moments{static_cast<float>(p.rows_of_slice(n, slice)), mean, square};
  });
  m = over_groups(m, p, min(p.groups, n.slices), n.columns, shared);
  if (!holds) return;
  const float4 variance = m.square * (1 / static_cast<float>(n.rows));
  store4(n.mean + p.feature, m.mean);
  store4(n.scale + p.feature, each(variance, [&](float v) { return 1 / sqrtf(v + n.epsilon); }));
  const auto move = [&](float* moving, float4 before, float4 now) {
    store4(moving + p.feature, before * n.momentum + now * (1 - n.momentum));
  };
  move(n.moving_mean, moving_mean, m.mean), move(n.moving_variance, moving_variance, variance);
}

// The second pass, or the only one in evaluation.
template <bool pooled, bool half, bool smooth>
__global__ void __launch_bounds__(threads) norm_apply_kernel(const __grid_constant__ NormPass n) {
  wait_for_predecessor();
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  if (!p.real) return;
  float4 mean, scale;
  if (n.training) {
    mean = load4(n.mean + p.feature), scale = load4(n.scale + p.feature);
  } else {
    mean = load4(n.moving_mean + p.feature);
    scale = each(load4(n.moving_variance + p.feature),
                 [&](float v) { return 1 / sqrtf(v + n.epsilon); });
  }
  const Features f = features_of(n, p.feature, mean, scale);
  if constexpr (pooled)
    apply_pooled<half, smooth>(n, p, f);
  else
    apply<half, smooth>(n, p, f);
}

template <bool pooled, bool half_x, bool half_g, bool smooth>
__global__ void __launch_bounds__(threads)
    norm_backward_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<Totals*>(raw);
  wait_for_predecessor();
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  Totals t{};
  float4 scale{};
  if (p.real) {
    scale = load4(n.scale + p.feature);
    t = totals_of<pooled, half_x, half_g, smooth>(
        n, p, features_of(n, p.feature, load4(n.mean + p.feature), scale));
  }
  t = over_groups(t, p, min(p.groups, p.end - p.begin), n.columns, shared);
  float* mine = n.partials + std::int64_t{2} * blockIdx.y * n.padded + p.feature;
  if (p.real && p.group == 0) store4(mine, t.gradient), store4(mine + n.padded, t.product);
  if (!last_of_slices(n)) return;
  t = over_slices<Totals>(n, p, [](int, float4 gradient, float4 product) {
    return Totals{gradient, product};
  });
  t = over_groups(t, p, min(p.groups, n.slices), n.columns, shared);
  if (!p.real || p.group != 0) return;
  const Means means = settle_totals(n, p.feature, t, scale, true);
  if (half_g && n.state && !isfinite(t.gradient.x + t.gradient.y + t.gradient.z + t.gradient.w))
    n.state->bad = 1;
  store4(n.means + p.feature, means.gradient);
  store4(n.means + n.padded + p.feature, means.product);
}

template <bool pooled, bool half_x, bool half_g, bool smooth>
__global__ void __launch_bounds__(threads)
    norm_apply_backward_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char raw[];
  wait_for_predecessor();
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  float4 sum{};
  if (p.real) {
    const float4 scale = load4(n.scale + p.feature);
    const Features f = features_of(n, p.feature, load4(n.mean + p.feature), scale);
    sum = apply_backward<pooled, half_x, half_g, smooth>(
        n, p, f, scale, {load4(n.means + p.feature), load4(n.means + n.padded + p.feature)});
  }
  if (n.sums) store_sums(n, p, sum, reinterpret_cast<float4*>(raw));
}

// The second pass merges nothing, so it may have more blocks.
dim3 second_blocks_of(const NormPass& n) {
  constexpr int rows_each = 4, more = 4;
  const int rows = n.pooled ? n.rows / 4 : n.rows, groups = threads / n.columns;
  return norm_blocks(n, std::clamp(rows / (groups * rows_each), n.slices, more * n.slices));
}

}  // namespace

NormShares share_norm(int rows, int padded, int multiprocessors) {
  const int vectors = padded / 4;
  const auto columns_of = [&](int most) {
    const int tiles = (vectors + most - 1) / most;
    return (vectors + tiles - 1) / tiles;
  };
  NormShares s;
  s.columns = columns_of(most_norm_columns);
  const int groups = threads / s.columns, tiles = (vectors + s.columns - 1) / s.columns;
  // One block merges the slices: few large ones keep memory as busy as many small ones.
  constexpr int rows_each = 8;
  s.slices = std::clamp(multiprocessors / tiles, 1, std::max(1, rows / (groups * rows_each)));
  return s;
}

namespace {

// Calls make(…) with each bool as a constant.
template <class Make>
auto with_constants(Make make) {
  return make();
}
template <class Make, class... Bools>
auto with_constants(Make make, bool first, Bools... rest) {
  return first ? with_constants([&](auto... c) { return make(std::true_type{}, c...); }, rest...)
               : with_constants([&](auto... c) { return make(std::false_type{}, c...); }, rest...);
}

using Kernel = void (*)(NormPass);
Kernel apply_kernel(const NormPass& n) {
  return with_constants(
      [](auto pooled, auto half, auto smooth) -> Kernel {
        return norm_apply_kernel<decltype(pooled)::value, decltype(half)::value,
                                 decltype(smooth)::value>;
      },
      n.pooled, n.input_terms.terms > 0, is_smooth(n));
}
struct BackwardKernels {
  Kernel sums, gradients;
};
BackwardKernels backward_kernels(const NormPass& n) {
  return with_constants(
      [](auto pooled, auto half_x, auto half_g, auto smooth) {
        constexpr bool p = decltype(pooled)::value, x = decltype(half_x)::value,
                       g = decltype(half_g)::value, s = decltype(smooth)::value;
        return BackwardKernels{norm_backward_kernel<p, x, g, s>,
                               norm_apply_backward_kernel<p, x, g, s>};
      },
      n.pooled, n.input_terms.terms > 0, n.gradient_terms.terms > 0, is_smooth(n));
}

}  // namespace

cudaError_t launch_norm(const NormPass& n, cudaStream_t stream) {
  const bool half = n.input_terms.terms > 0;
  if (n.training) {
    const cudaError_t error =
        launch(half ? norm_kernel<true> : norm_kernel<false>, norm_blocks(n, n.slices), threads,
               group_places * sizeof(Moments), stream, n);
    if (error != cudaSuccess) return error;
  }
  return launch(apply_kernel(n), second_blocks_of(n), threads, 0, stream, n);
}
cudaError_t launch_norm_backward(const NormPass& n, cudaStream_t stream) {
  const BackwardKernels kernels = backward_kernels(n);
  const cudaError_t error = launch(kernels.sums, norm_blocks(n, n.slices), threads,
                                   group_places * sizeof(Totals), stream, n);
  if (error != cudaSuccess || !n.input_gradient) return error;
  return launch(kernels.gradients, n.sums ? norm_blocks(n, n.sum_slices) : second_blocks_of(n),
                threads, n.sums ? group_places * sizeof(float4) : 0, stream, n);
}

}  // namespace sweetspot::engine::cuda
