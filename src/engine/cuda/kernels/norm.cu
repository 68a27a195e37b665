#include <algorithm>

#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/terms.cuh"

// Batch normalisation, and the following activation and 2×2 max pooling. A block has up to 32
// vectors of four features (`columns`) and a share of the rows (sample, position), over which its
// groups of threads iterate. Each block writes its sums; the last one to finish, determined by an
// integer counter, adds them in the order of the blocks. So the result depends only on the shape.
// If one block has all rows, it continues with the second pass itself.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 512;

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

// Merges the values of the first `width` groups, in a fixed order; group 0 gets the result.
template <class T>
__device__ T over_groups(T mine, const Place& p, int width, int columns, T* shared) {
  while (width > 1) {
    const int half = (width + 1) / 2;
    __syncthreads();
    if (p.group >= half && p.group < width) shared[(p.group - half) * columns + p.column] = mine;
    __syncthreads();
    if (p.group + half < width) mine = merged(mine, shared[p.group * columns + p.column]);
    width = half;
  }
  return mine;
}

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

struct Features {
  float4 mean, factor, shift;
};
__device__ float4 scaled_by_gamma(const NormPass& n, int feature, float4 scale) {
  return n.gamma ? scale * load4(n.gamma + feature) : scale;
}
__device__ float4 shift_of(const NormPass& n, int feature) {
  return n.beta ? load4(n.beta + feature) : float4{};
}

__device__ float4 normalised(const NormPass& n, const Features& f, float4 x) {
  return each((x - f.mean) * f.factor + f.shift, [&](float z) { return activated(n.function, z); });
}
// Some functions are not zero at zero, but the padding must be.
__device__ float4 without_padding(const NormPass& n, int feature, float4 y) {
  const int channel = feature % n.pitch;
  return {y.x, channel + 1 < n.channels ? y.y : 0.f, channel + 2 < n.channels ? y.z : 0.f,
          channel + 3 < n.channels ? y.w : 0.f};
}

// The first of a window's four rows.
__device__ std::int64_t corner_of(const NormPass& n, int window) {
  const int line = n.by_windows_x.quotient(window);  // of all samples
  return std::int64_t{line} * (2 * n.width) + 2 * (window - line * n.by_windows_x.divisor);
}
__device__ int row_in_window(const NormPass& n, int slot) { return slot / 2 * n.width + slot % 2; }

__device__ void apply_pooled(const NormPass& n, const Place& p, const Features& f) {
  for (int window = p.begin + p.group; window < p.end; window += p.groups) {
    const float* from = n.input + corner_of(n, window) * n.padded + p.feature;
    float4 x[4];
#pragma unroll
    for (int slot = 0; slot < 4; ++slot)
      x[slot] = load4(from + std::int64_t{row_in_window(n, slot)} * n.padded);
    float best[4];
    std::uint8_t code[4];
#pragma unroll
    for (int slot = 0; slot < 4; ++slot) {
      const float4 y4 = normalised(n, f, x[slot]);
      const float y[4] = {y4.x, y4.y, y4.z, y4.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (slot == 0 || beats(y[i], best[i]))
          best[i] = y[i], code[i] = static_cast<std::uint8_t>(slot);
    }
    const std::int64_t to = std::int64_t{window} * n.padded + p.feature;
    store_value4(n.output, n.output_terms, to,
                 without_padding(n, p.feature, {best[0], best[1], best[2], best[3]}));
    if (n.code) *reinterpret_cast<uchar4*>(n.code + to) = {code[0], code[1], code[2], code[3]};
  }
}

__device__ void apply(const NormPass& n, const Place& p, const Features& f) {
  constexpr int at_once = 4;
  const float* from = n.input + p.feature;
  for (int row = p.begin + p.group; row < p.end; row += at_once * p.groups) {
    float4 x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (row + i * p.groups < p.end)
        x[i] = load4(from + std::int64_t{row + i * p.groups} * n.padded);
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (row + i * p.groups < p.end)
        store_value4(n.output, n.output_terms,
                     std::int64_t{row + i * p.groups} * n.padded + p.feature,
                     without_padding(n, p.feature, normalised(n, f, x[i])));
  }
}

__device__ Moments moments_of(const NormPass& n, const Place& p) {
  constexpr int at_once = 8;
  Moments m{};
  if (!p.real || p.begin + p.group >= p.end) return m;
  const float* from = n.input + p.feature;
  // Deviations from this thread's first value: their squares lose no precision to a large mean.
  const float4 pivot = load4(from + std::int64_t{p.begin + p.group} * n.padded);
  float4 sum{}, square{};
  for (int row = p.begin + p.group; row < p.end; row += at_once * p.groups) {
    float4 x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      x[i] = row + i * p.groups < p.end ? load4(from + std::int64_t{row + i * p.groups} * n.padded)
                                        : pivot;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const float4 d = x[i] - pivot;
      sum = sum + d, square = square + d * d;
    }
  }
  m.n = static_cast<float>((p.end - p.begin - p.group + p.groups - 1) / p.groups);
  const float4 off = sum * (1 / m.n);
  m.mean = pivot + off, m.square = square - sum * off;
  return m;
}

__global__ void __launch_bounds__(threads) norm_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<Moments*>(raw);
  wait_for_predecessor();
  const Place p(n, n.rows);
  const bool goes_on = n.slices == 1, holds = p.real && p.group == 0;
  float4 moving_mean{}, moving_variance{};  // loaded before they are needed
  if (holds)
    moving_mean = load4(n.moving_mean + p.feature),
    moving_variance = load4(n.moving_variance + p.feature);
  Moments m = over_groups(moments_of(n, p), p, min(p.groups, p.end - p.begin), n.columns, shared);
  if (n.slices > 1) {
    float* mine = n.partials + std::int64_t{2} * blockIdx.y * n.padded + p.feature;
    if (holds) store4(mine, m.mean), store4(mine + n.padded, m.square);
    if (!last_of_slices(n)) return;
    m = over_slices<Moments>(n, p, [&](int slice, float4 mean, float4 square) {
      return Moments{static_cast<float>(p.rows_of_slice(n, slice)), mean, square};
    });
    m = over_groups(m, p, min(p.groups, n.slices), n.columns, shared);
  }
  __shared__ Features features[most_norm_columns];
  if (holds) {
    const float4 variance = m.square * (1 / static_cast<float>(n.rows));
    const float4 scale = each(variance, [&](float v) { return 1 / sqrtf(v + n.epsilon); });
    store4(n.mean + p.feature, m.mean), store4(n.scale + p.feature, scale);
    const auto move = [&](float* moving, float4 before, float4 now) {
      store4(moving + p.feature, before * n.momentum + now * (1 - n.momentum));
    };
    move(n.moving_mean, moving_mean, m.mean), move(n.moving_variance, moving_variance, variance);
    if (goes_on)
      features[p.column] = {m.mean, scaled_by_gamma(n, p.feature, scale), shift_of(n, p.feature)};
  }
  if (!goes_on) return;
  __syncthreads();
  if (!p.real) return;
  if (n.pooled)
    apply_pooled(n, Place(n, n.rows / 4), features[p.column]);
  else
    apply(n, p, features[p.column]);
}

// The second pass, or the only one in evaluation.
template <bool pooled>
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
  const Features f{mean, scaled_by_gamma(n, p.feature, scale), shift_of(n, p.feature)};
  if constexpr (pooled)
    apply_pooled(n, p, f);
  else
    apply(n, p, f);
}

// The gradient after the normalisation, through the activation.
__device__ float4 let_through(const NormPass& n, const Features& f, float4 x, float4 g) {
  if (n.function == Function::linear) return g;
  return through_activation(n.function, normalised(n, f, x), g);
}

// Calls `use(place, x, gradient)` for each vector before the pooling.
template <bool pooled, class Use>
__device__ void each_gradient(const NormPass& n, const Place& p, const Features& f, Use use) {
  if constexpr (pooled) {
    for (int window = p.begin + p.group; window < p.end; window += p.groups) {
      const std::int64_t from = std::int64_t{window} * n.padded + p.feature;
      const std::int64_t corner = corner_of(n, window) * n.padded + p.feature;
      const float4 g = load4(n.gradient + from);
      const uchar4 code = *reinterpret_cast<const uchar4*>(n.code + from);
      float4 x[4];
#pragma unroll
      for (int slot = 0; slot < 4; ++slot)
        x[slot] = load4(n.input + corner + std::int64_t{row_in_window(n, slot)} * n.padded);
#pragma unroll
      for (int slot = 0; slot < 4; ++slot)
        use(corner + std::int64_t{row_in_window(n, slot)} * n.padded, x[slot],
            let_through(n, f, x[slot],
                        {code.x == slot ? g.x : 0.f, code.y == slot ? g.y : 0.f,
                         code.z == slot ? g.z : 0.f, code.w == slot ? g.w : 0.f}));
    }
    return;
  }
  constexpr int at_once = 4;
  for (int row = p.begin + p.group; row < p.end; row += at_once * p.groups) {
    float4 x[at_once], g[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (const std::int64_t at = std::int64_t{row + i * p.groups} * n.padded + p.feature;
          row + i * p.groups < p.end)
        x[i] = load4(n.input + at), g[i] = load4(n.gradient + at);
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (row + i * p.groups < p.end)
        use(std::int64_t{row + i * p.groups} * n.padded + p.feature, x[i],
            let_through(n, f, x[i], g[i]));
  }
}

// Means of the gradient and of its product with the normalised input.
struct Means {
  float4 gradient, product;
};
// Returns the sum of what it writes.
template <bool pooled>
__device__ float4 apply_backward(const NormPass& n, const Place& p, const Features& f, float4 scale,
                                 const Means& means) {
  const float4 by_distance = means.product * scale;
  float4 sum{};
  each_gradient<pooled>(n, p, f, [&](std::int64_t at, float4 x, float4 g) {
    const float4 v = f.factor * (g - means.gradient - (x - f.mean) * by_distance);
    store_value4(n.input_gradient, n.input_gradient_terms, at, v);
    sum = sum + v;
  });
  return sum;
}

template <bool pooled>
__global__ void __launch_bounds__(threads)
    norm_backward_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<Totals*>(raw);
  wait_for_predecessor();
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  Totals t{};
  Features f{};
  float4 scale{};
  if (p.real) {
    scale = load4(n.scale + p.feature);
    f = {load4(n.mean + p.feature), scaled_by_gamma(n, p.feature, scale), shift_of(n, p.feature)};
    each_gradient<pooled>(n, p, f, [&](std::int64_t, float4 x, float4 g) {
      t.gradient = t.gradient + g, t.product = t.product + g * (x - f.mean);
    });
  }
  t = over_groups(t, p, min(p.groups, p.end - p.begin), n.columns, shared);
  if (n.slices > 1) {
    float* mine = n.partials + std::int64_t{2} * blockIdx.y * n.padded + p.feature;
    if (p.real && p.group == 0) store4(mine, t.gradient), store4(mine + n.padded, t.product);
    if (!last_of_slices(n)) return;
    t = over_slices<Totals>(n, p, [](int, float4 gradient, float4 product) {
      return Totals{gradient, product};
    });
    t = over_groups(t, p, min(p.groups, n.slices), n.columns, shared);
  }
  __shared__ Means all[most_norm_columns];
  if (p.real && p.group == 0) {
    const float4 product = t.product * scale;
    if (n.gamma_gradient) store4(n.gamma_gradient + p.feature, product);
    if (n.beta_gradient) store4(n.beta_gradient + p.feature, t.gradient);
    const float each_row = 1 / static_cast<float>(n.rows);
    const Means means{t.gradient * each_row, product * each_row};
    if (n.slices > 1)
      store4(n.means + p.feature, means.gradient),
          store4(n.means + n.padded + p.feature, means.product);
    else
      all[p.column] = means;
  }
  if (n.slices > 1 || !n.input_gradient) return;
  __syncthreads();
  if (p.real) apply_backward<pooled>(n, p, f, scale, all[p.column]);
}

template <bool pooled>
__global__ void __launch_bounds__(threads)
    norm_apply_backward_kernel(const __grid_constant__ NormPass n) {
  extern __shared__ __align__(16) unsigned char raw[];
  wait_for_predecessor();
  const Place p(n, pooled ? n.rows / 4 : n.rows);
  float4 sum{};
  if (p.real) {
    const float4 scale = load4(n.scale + p.feature);
    const Features f{load4(n.mean + p.feature), scaled_by_gamma(n, p.feature, scale),
                     shift_of(n, p.feature)};
    sum = apply_backward<pooled>(
        n, p, f, scale, {load4(n.means + p.feature), load4(n.means + n.padded + p.feature)});
  }
  if (!n.sums) return;
  sum = over_groups(sum, p, p.groups, n.columns, reinterpret_cast<float4*>(raw));
  if (p.real && p.group == 0) store4(n.sums + std::int64_t{blockIdx.y} * n.padded + p.feature, sum);
}

dim3 blocks_of(const NormPass& n, int slices) {
  const int wide = 4 * n.columns;
  return dim3(static_cast<unsigned>((n.padded + wide - 1) / wide), static_cast<unsigned>(slices));
}
// The second pass merges nothing, so it may have more blocks.
dim3 second_blocks_of(const NormPass& n) {
  constexpr int rows_each = 4, more = 4;
  const int rows = n.pooled ? n.rows / 4 : n.rows, groups = threads / n.columns;
  return blocks_of(n, std::clamp(rows / (groups * rows_each), n.slices, more * n.slices));
}

}  // namespace

NormShares share_norm(int rows, int padded, int multiprocessors) {
  const int vectors = padded / 4;
  const auto columns_of = [&](int most) {
    const int tiles = (vectors + most - 1) / most;
    return (vectors + tiles - 1) / tiles;
  };
  NormShares s;
  // So few rows that a block reads its share the second time from its own cache.
  constexpr int few_vectors = 2048, few_columns = 8;
  s.columns = columns_of(std::clamp(few_vectors / rows, 1, few_columns));
  if (rows <= few_vectors) return s;
  s.columns = columns_of(most_norm_columns);
  const int groups = threads / s.columns, tiles = (vectors + s.columns - 1) / s.columns;
  // One block merges the slices: few large ones keep memory as busy as many small ones.
  constexpr int rows_each = 8;
  s.slices = std::clamp(multiprocessors / tiles, 1, std::max(1, rows / (groups * rows_each)));
  return s;
}

cudaError_t launch_norm(const NormPass& n, cudaStream_t stream) {
  if (n.training) {
    const cudaError_t error =
        launch(norm_kernel, blocks_of(n, n.slices), threads, threads * sizeof(Moments), stream, n);
    if (error != cudaSuccess || n.slices == 1) return error;
  }
  return launch(n.pooled ? norm_apply_kernel<true> : norm_apply_kernel<false>, second_blocks_of(n),
                threads, 0, stream, n);
}
cudaError_t launch_norm_backward(const NormPass& n, cudaStream_t stream) {
  const cudaError_t error =
      launch(n.pooled ? norm_backward_kernel<true> : norm_backward_kernel<false>,
             blocks_of(n, n.slices), threads, threads * sizeof(Totals), stream, n);
  if (error != cudaSuccess || n.slices == 1 || !n.input_gradient) return error;
  return launch(n.pooled ? norm_apply_backward_kernel<true> : norm_apply_backward_kernel<false>,
                n.sums ? blocks_of(n, n.sum_slices) : second_blocks_of(n), threads,
                n.sums ? threads * sizeof(float4) : 0, stream, n);
}

}  // namespace sweetspot::engine::cuda
