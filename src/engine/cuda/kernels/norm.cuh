#pragma once
#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/planes.cuh"
#include "engine/cuda/kernels/split_floats.cuh"

// Batch normalisation, and the following activation and 2×2 max pooling. A block has up to 32
// vectors of four features (`columns`) and a share of the rows (sample, position), over which its
// groups of threads iterate.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 512;

inline dim3 norm_blocks(const NormPass& n, int slices) {
  const int wide = 4 * n.columns;
  return dim3(static_cast<unsigned>((n.padded + wide - 1) / wide), static_cast<unsigned>(slices));
}

// Mean and sum of squared deviations of `n` values.
struct Moments {
  float n;
  float4 mean, square;
};
__device__ Moments merged(const Moments& a, const Moments& b) {
  if (b.n == 0) return a;
  if (a.n == 0) return b;
  Moments m;
  m.n = a.n + b.n;
  const float share = b.n / m.n, weight = a.n * share;
  const float4 d = b.mean - a.mean;
  m.mean = a.mean + d * share;
  m.square = a.square + b.square + d * d * weight;
  return m;
}
struct Totals {
  float4 gradient, product;  // Σ g and Σ g (x − mean)
};
__device__ Totals merged(const Totals& a, const Totals& b) {
  return {a.gradient + b.gradient, a.product + b.product};
}

__device__ float4 merged(float4 a, float4 b) { return a + b; }

// This thread's part: its features, and its group's share of the rows.
struct Place {
  int column, group, groups, feature;
  bool real;
  int begin, end;  // rows of the block
  __device__ Place(const NormPass& n, int rows) {
    column = threadIdx.x % n.columns, group = threadIdx.x / n.columns, groups = threads / n.columns;
    feature = (blockIdx.x * n.columns + column) * 4;
    real = group < groups && feature < n.padded;
    const int slices = static_cast<int>(gridDim.y), share = (rows + slices - 1) / slices;
    begin = min(static_cast<int>(blockIdx.y) * share, rows), end = min(begin + share, rows);
  }
  __device__ int rows_of_slice(const NormPass& n, int slice) const {
    const int share = (n.rows + n.slices - 1) / n.slices;
    return max(0, min(share, n.rows - slice * share));
  }
};

// The same value of the lane `distance` further.
template <class T>
__device__ T shuffled_down(const T& mine, int distance) {
  static_assert(sizeof(T) % sizeof(float) == 0);
  T other;
  const auto* from = reinterpret_cast<const float*>(&mine);
  auto* to = reinterpret_cast<float*>(&other);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(float)); ++i)
    to[i] = __shfl_down_sync(0xffffffffu, from[i], distance);
  return other;
}

// Merges the values of all groups, in a fixed order; group 0 gets the result. Only the first
// `width` have values that are not zero.
template <class T>
__device__ T over_groups(T mine, const Place& p, int width, int columns, T* shared) {
  __syncthreads();
  if (columns & (columns - 1)) {
    while (width > 1) {
      const int half = (width + 1) / 2;
      if (p.group >= half && p.group < width) shared[(p.group - half) * columns + p.column] = mine;
      __syncthreads();
      if (p.group + half < width) mine = merged(mine, shared[p.group * columns + p.column]);
      __syncthreads();
      width = half;
    }
    return mine;
  }
  // First in each warp, then each column's warps.
  constexpr int warps = threads / 32;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int distance = columns; distance < 32; distance *= 2)
    mine = merged(mine, shuffled_down(mine, distance));
  if (lane < columns) shared[warp * columns + lane] = mine;
  __syncthreads();
  for (int column = warp; column < columns; column += warps) {
    T value = shared[lane % warps * columns + column];
#pragma unroll
    for (int distance = warps / 2; distance > 0; distance /= 2)
      value = merged(value, shuffled_down(value, distance));
    if (lane == 0) shared[threads + column] = value;
  }
  __syncthreads();
  return shared[threads + p.column];
}
constexpr int group_places = threads + most_norm_columns;  // of `shared`

struct Features {
  float4 mean, factor, shift;
  float least;  // of the output: 0 for ReLU, −∞ for none
};
__device__ float4 scaled_by_gamma(const NormPass& n, int feature, float4 scale) {
  return n.gamma ? scale * load4(n.gamma + feature) : scale;
}
__device__ float4 shift_of(const NormPass& n, int feature) {
  return n.beta ? load4(n.beta + feature) : float4{};
}

__device__ Features features_of(const NormPass& n, int feature, float4 mean, float4 scale) {
  return {mean, scaled_by_gamma(n, feature, scale), shift_of(n, feature),
          n.function == Function::relu ? 0.f : -INFINITY};
}

// ReLU, or no function, is one comparison; the others (`smooth`) have kernels of their own, since a
// choice for every element would cost more than the normalisation.
bool is_smooth(const NormPass& n) {
  return n.function != Function::linear && n.function != Function::relu;
}
__device__ float4 scaled(const Features& f, float4 x) { return (x - f.mean) * f.factor + f.shift; }
template <bool smooth>
__device__ float4 normalised(const NormPass& n, const Features& f, float4 x) {
  return each(scaled(f, x), [&](float z) {
    if constexpr (smooth) return activated(n.function, z);
    return z < f.least ? f.least : z;
  });
}
// Some smooth functions are not zero at zero, but the padding must be.
__device__ float4 only_channels(const NormPass& n, int feature, float4 y) {
  return without_padding(y, feature % n.pitch, n.channels);
}

// The first of a window's four rows.
__device__ std::int64_t corner_of(const NormPass& n, int window) {
  const int line = n.by_windows_x.quotient(window);  // of all samples
  return std::int64_t{line} * (2 * n.width) + 2 * (window - line * n.by_windows_x.divisor);
}
__device__ int row_in_window(const NormPass& n, int slot) { return slot / 2 * n.width + slot % 2; }

template <bool half, bool smooth>
__device__ void apply_pooled(const NormPass& n, const Place& p, const Features& f) {
  for (int window = p.begin + p.group; window < p.end; window += p.groups) {
    const std::int64_t from = corner_of(n, window) * n.padded + p.feature;
    Raw4<half> x[4];
#pragma unroll
    for (int slot = 0; slot < 4; ++slot)
      x[slot] = load_raw4<half>(n.input, from + std::int64_t{row_in_window(n, slot)} * n.padded);
    float best[4];
    std::uint8_t code[4];
#pragma unroll
    for (int slot = 0; slot < 4; ++slot) {
      const float4 y4 = normalised<smooth>(n, f, floats_of(x[slot], n.input_terms.fp16));
      const float y[4] = {y4.x, y4.y, y4.z, y4.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (slot == 0 || beats(y[i], best[i]))
          best[i] = y[i], code[i] = static_cast<std::uint8_t>(slot);
    }
    const std::int64_t to = std::int64_t{window} * n.padded + p.feature;
    const float4 y{best[0], best[1], best[2], best[3]};
    store_value4(n.output, n.output_terms, to, smooth ? only_channels(n, p.feature, y) : y);
    if (n.code) *reinterpret_cast<uchar4*>(n.code + to) = {code[0], code[1], code[2], code[3]};
  }
}

// Loads that a thread has under way: as many bytes with half of the bits.
template <bool half, int of_floats>
constexpr int loads = half ? 2 * of_floats : of_floats;

template <bool half, bool smooth>
__device__ void apply(const NormPass& n, const Place& p, const Features& f) {
  constexpr int at_once = loads<half, 4>;
  for (int row = p.begin + p.group; row < p.end; row += at_once * p.groups) {
    Raw4<half> x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (row + i * p.groups < p.end)
        x[i] = load_raw4<half>(n.input, std::int64_t{row + i * p.groups} * n.padded + p.feature);
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (row + i * p.groups < p.end) {
        const float4 y = normalised<smooth>(n, f, floats_of(x[i], n.input_terms.fp16));
        store_value4(n.output, n.output_terms,
                     std::int64_t{row + i * p.groups} * n.padded + p.feature,
                     smooth ? only_channels(n, p.feature, y) : y);
      }
  }
}

template <bool half>
__device__ Moments moments_of(const NormPass& n, const Place& p) {
  constexpr int at_once = loads<half, 8>;
  Moments m{};
  if (!p.real || p.begin + p.group >= p.end) return m;
  const auto load = [&](int row) {
    return load_raw4<half>(n.input, std::int64_t{row} * n.padded + p.feature);
  };
  // Deviations from this thread's first value: their squares lose no precision to a large mean.
  const Raw4<half> first = load(p.begin + p.group);
  const float4 pivot = floats_of(first, n.input_terms.fp16);
  float4 sum{}, square{};
  for (int row = p.begin + p.group; row < p.end; row += at_once * p.groups) {
    Raw4<half> x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      x[i] = row + i * p.groups < p.end ? load(row + i * p.groups) : first;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const float4 d = floats_of(x[i], n.input_terms.fp16) - pivot;
      sum = sum + d, square = square + d * d;
    }
  }
  m.n = static_cast<float>((p.end - p.begin - p.group + p.groups - 1) / p.groups);
  const float4 off = sum * (1 / m.n);
  m.mean = pivot + off, m.square = square - sum * off;
  return m;
}

// The gradient after the normalisation, through the activation.
template <bool smooth>
__device__ float4 let_through(const NormPass& n, const Features& f, float4 x, float4 g) {
  if constexpr (smooth) return through_activation(n.function, normalised<true>(n, f, x), g);
  const float4 z = scaled(f, x);
  return {z.x > f.least ? g.x : 0.f, z.y > f.least ? g.y : 0.f, z.z > f.least ? g.z : 0.f,
          z.w > f.least ? g.w : 0.f};
}

// Calls `use(place, x, gradient)` for each vector before the pooling.
template <bool pooled, bool half_x, bool half_g, bool smooth, class Use>
__device__ void each_gradient(const NormPass& n, const Place& p, const Features& f, Use use) {
  if constexpr (pooled) {
    for (int window = p.begin + p.group; window < p.end; window += p.groups) {
      const std::int64_t from = std::int64_t{window} * n.padded + p.feature;
      const std::int64_t corner = corner_of(n, window) * n.padded + p.feature;
      const Raw4<half_g> raw_g = load_raw4<half_g>(n.gradient, from);
      const uchar4 code = *reinterpret_cast<const uchar4*>(n.code + from);
      Raw4<half_x> raw_x[4];
#pragma unroll
      for (int slot = 0; slot < 4; ++slot)
        raw_x[slot] =
            load_raw4<half_x>(n.input, corner + std::int64_t{row_in_window(n, slot)} * n.padded);
      const float4 g = floats_of(raw_g, n.gradient_terms.fp16);
#pragma unroll
      for (int slot = 0; slot < 4; ++slot) {
        const float4 x = floats_of(raw_x[slot], n.input_terms.fp16);
        use(corner + std::int64_t{row_in_window(n, slot)} * n.padded, x,
            let_through<smooth>(n, f, x,
                                {code.x == slot ? g.x : 0.f, code.y == slot ? g.y : 0.f,
                                 code.z == slot ? g.z : 0.f, code.w == slot ? g.w : 0.f}));
      }
    }
    return;
  }
  constexpr int at_once = loads < half_x && half_g, 4 > ;
  for (int row = p.begin + p.group; row < p.end; row += at_once * p.groups) {
    Raw4<half_x> x[at_once];
    Raw4<half_g> g[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (const std::int64_t at = std::int64_t{row + i * p.groups} * n.padded + p.feature;
          row + i * p.groups < p.end)
        x[i] = load_raw4<half_x>(n.input, at), g[i] = load_raw4<half_g>(n.gradient, at);
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (row + i * p.groups < p.end) {
        const float4 value = floats_of(x[i], n.input_terms.fp16);
        use(std::int64_t{row + i * p.groups} * n.padded + p.feature, value,
            let_through<smooth>(n, f, value, floats_of(g[i], n.gradient_terms.fp16)));
      }
  }
}

// Means of the gradient and of its product with the normalised input.
struct Means {
  float4 gradient, product;
};
// Returns the sum of what it writes.
template <bool pooled, bool half_x, bool half_g, bool smooth>
__device__ float4 apply_backward(const NormPass& n, const Place& p, const Features& f, float4 scale,
                                 const Means& means) {
  const float4 by_distance = means.product * scale;
  float4 sum{};
  each_gradient<pooled, half_x, half_g, smooth>(n, p, f, [&](std::int64_t at, float4 x, float4 g) {
    const float4 v = f.factor * (g - means.gradient - (x - f.mean) * by_distance);
    store_value4(n.input_gradient, n.input_gradient_terms, at, v);
    sum = sum + v;
  });
  return sum;
}

// Stores the gradients of scale and shift; returns the means.
__device__ Means settle_totals(const NormPass& n, int feature, const Totals& t, float4 scale,
                               bool stores) {
  const float4 product = t.product * scale;
  if (stores && n.gamma_gradient) store4(n.gamma_gradient + feature, product);
  if (stores && n.beta_gradient) store4(n.beta_gradient + feature, t.gradient);
  const float each_row = 1 / static_cast<float>(n.rows);
  return {t.gradient * each_row, product * each_row};
}

__device__ void store_sums(const NormPass& n, const Place& p, float4 sum, float4* shared) {
  sum = over_groups(sum, p, p.groups, n.columns, shared);
  if (p.real && p.group == 0) store4(n.sums + std::int64_t{blockIdx.y} * n.padded + p.feature, sum);
}

template <bool pooled, bool half_x, bool half_g, bool smooth>
__device__ Totals totals_of(const NormPass& n, const Place& p, const Features& f) {
  Totals t{};
  each_gradient<pooled, half_x, half_g, smooth>(n, p, f, [&](std::int64_t, float4 x, float4 g) {
    t.gradient = t.gradient + g, t.product = t.product + g * (x - f.mean);
  });
  return t;
}

}  // namespace
}  // namespace sweetspot::engine::cuda
