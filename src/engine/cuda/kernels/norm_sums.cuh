#pragma once
#include "engine/cuda/kernels/norm.cuh"

// The first pass over any number of rows: the sums of the deviations and of their squares, or, of
// the gradients, Σ g and Σ g (x − mean). A block has up to 32 vectors of four features (`columns`)
// and a slice of the rows (sample, position), over which its groups of threads iterate. The second
// pass adds the slices, in order.
namespace sweetspot::engine::cuda {
namespace {

// This thread's part: its features, and its group's share of the rows or windows.
struct Place {
  int column, group, groups, feature;
  bool real;
  int begin, end;
  __device__ Place(const NormPass& n, int units) {
    column = static_cast<int>(threadIdx.x % static_cast<unsigned>(n.shares.columns));
    group = static_cast<int>(threadIdx.x / static_cast<unsigned>(n.shares.columns));
    groups = static_cast<int>(norm_threads / static_cast<unsigned>(n.shares.columns));
    feature = (static_cast<int>(blockIdx.x) * n.shares.columns + column) * 4;
    real = group < groups && feature < n.padded;
    const int share = static_cast<int>((static_cast<unsigned>(units) + gridDim.y - 1) / gridDim.y);
    begin = min(static_cast<int>(blockIdx.y) * share, units), end = min(begin + share, units);
    if (!real) end = 0;
  }
  __device__ int first() const { return begin + group; }
  // The i-th of the units from `first` on, or the last.
  __device__ int unit(int first, int i) const { return min(first + i * groups, end - 1); }
  __device__ std::int64_t place(const NormPass& n, int first, int i) const {
    return std::int64_t{unit(first, i)} * n.padded + feature;
  }
};

// Sums of several threads: outputs o = 8c + 4s + e, element e of the s-th vector of column c.
// `parts` threads share each output.
struct Outputs {
  int width, output, part, parts;
  __device__ explicit Outputs(const NormPass& n) {
    width = 8 * n.shares.columns;
    output = static_cast<int>(threadIdx.x % static_cast<unsigned>(width));
    part = static_cast<int>(threadIdx.x / static_cast<unsigned>(width));
    parts = static_cast<int>(norm_threads / static_cast<unsigned>(width));
  }
  // The output's place in (2, padded).
  __device__ int place(const NormPass& n) const {
    return output / 4 % 2 * n.padded +
           (static_cast<int>(blockIdx.x) * n.shares.columns + output / 8) * 4 + output % 4;
  }
  __device__ bool real(const NormPass& n) const {
    return part < parts &&
           (static_cast<int>(blockIdx.x) * n.shares.columns + output / 8) * 4 < n.padded;
  }
};
constexpr int most_outputs = 8 * most_norm_columns;

// The block's sums, in the first threads, one output each.
__device__ float over_block(float4 first, float4 second, const NormPass& n, const Place& p) {
  __shared__ __align__(16) float shared[8 * norm_threads];
  if (p.group < p.groups) {
    float* to = &shared[8 * threadIdx.x];
    store4(to, first), store4(to + 4, second);
  }
  __syncthreads();
  const Outputs o(n);
  float sum = 0;
  if (o.part < o.parts)
#pragma unroll 4
    for (int group = o.part; group < p.groups; group += o.parts)
      sum += shared[group * o.width + o.output];
  __syncthreads();
  shared[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  if (o.part == 0)
#pragma unroll 4
    for (int part = 0; part < o.parts; ++part) sum += shared[part * o.width + o.output];
  return sum;
}

template <class Blocks>
__device__ void store_slice(float4 first, float4 second, const NormPass& n, const Place& p) {
  const float sum = Blocks::over_blocks(over_block(first, second, n, p));
  const Outputs o(n);
  if (Blocks::stores() && o.part == 0 && o.real(n))
    n.partials[std::int64_t{Blocks::slice()} * 2 * n.padded + o.place(n)] = sum;
}

template <bool half, class Blocks>
__global__ void __launch_bounds__(norm_threads, 2)
    norm_sums_kernel(const __grid_constant__ NormPass n) {
  Blocks::enter();
  const Place p(n, n.rows);
  wait_for_predecessor();
  float4 sum{}, square{};
  if (p.real) {
    constexpr int at_once = 8;
    const float4 pivot = pivot_of<half>(n, p.feature);
    if (blockIdx.y == 0 && p.group == 0) store4(n.pivots + p.feature, pivot);
#pragma unroll 1
    for (int row = p.first(); row < p.end; row += at_once * p.groups) {
      Raw4<half> x[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) x[i] = load_raw4<half>(n.input, p.place(n, row, i));
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        if (row + i * p.groups < p.end) {
          const float4 d = floats_of(x[i], n.input_terms.fp16) - pivot;
          sum = sum + d, square = square + d * d;
        }
    }
  }
  store_slice<Blocks>(sum, square, n, p);
}

// What a thread loads at once for the gradients: units, which are rows or windows. Beyond the end
// it loads the last one again.
template <bool pooled, bool half_x, bool half_g>
struct GradientUnits {
  static constexpr int each = pooled ? 4 : 1;
  static constexpr int count = pooled ? 1 : half_x || half_g ? 4 : 2;
  Raw4<half_x> x[count * each];
  Raw4<half_g> g[count];
  uchar4 code;

  // Of a batch's input, which is older than its gradient.
  __device__ void load_input(const NormPass& n, const Place& p, int unit) {
    if (unit >= p.end) return;
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
      for (int slot = 0; slot < each; ++slot)
        x[i * each + slot] =
            load_raw4<half_x>(n.input, before_pooling<pooled>(n, p.unit(unit, i), slot, p.feature));
    if constexpr (pooled) code = *reinterpret_cast<const uchar4*>(n.code + p.place(n, unit, 0));
  }
  __device__ void load_gradient(const NormPass& n, const Place& p, int unit) {
    if (unit >= p.end) return;
#pragma unroll
    for (int i = 0; i < count; ++i) g[i] = load_raw4<half_g>(n.gradient, p.place(n, unit, i));
  }
  // Calls use(place, gradient) for each vector before the pooling.
  template <bool smooth, class Use>
  __device__ void each_of(const NormPass& n, const Place& p, const Features& f, int unit,
                          Use use) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (unit + i * p.groups < p.end)
#pragma unroll
        for (int slot = 0; slot < each; ++slot) {
          float4 gradient = floats_of(g[i], n.gradient_terms.fp16);
          if constexpr (pooled) gradient = of_slot(gradient, code, slot);
          use(before_pooling<pooled>(n, unit + i * p.groups, slot, p.feature),
              GradientAt::of<smooth>(n, f, floats_of(x[i * each + slot], n.input_terms.fp16),
                                     gradient));
        }
  }
};

template <bool half_x, bool half_g, bool pooled, bool smooth, class Blocks>
__global__ void __launch_bounds__(norm_threads, 2)
    norm_backward_sums_kernel(const __grid_constant__ NormPass n) {
  Blocks::enter();
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  GradientUnits<pooled, half_x, half_g> units;
  int unit = p.first();
  units.load_input(n, p, unit);
  const Features f(n, p.feature);
  wait_for_predecessor();
  float4 gradient{}, product{};
#pragma unroll 1
  while (unit < p.end) {
    units.load_gradient(n, p, unit);
    units.template each_of<smooth>(n, p, f, unit, [&](std::int64_t, const GradientAt& at) {
      gradient = gradient + at.g, product = product + at.g * at.x;
    });
    unit += units.count * p.groups;
    units.load_input(n, p, unit);
  }
  store_slice<Blocks>(gradient, product, n, p);
}

template <class Blocks>
NormKernel sums_kernel(const NormPass& n, bool backward) {
  const bool half_x = n.input_terms.terms > 0;
  if (!backward) return half_x ? norm_sums_kernel<true, Blocks> : norm_sums_kernel<false, Blocks>;
  return with_constants(
      [](auto x, auto g, auto pooled, auto smooth) -> NormKernel {
        return norm_backward_sums_kernel<decltype(x)::value, decltype(g)::value,
                                         decltype(pooled)::value, decltype(smooth)::value, Blocks>;
      },
      half_x, n.gradient_terms.terms > 0, n.pooled, is_smooth(n));
}

}  // namespace
}  // namespace sweetspot::engine::cuda
