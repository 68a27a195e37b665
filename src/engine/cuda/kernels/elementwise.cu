#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/dropout_gradient.h"
#include "engine/cuda/kernels/grid_stride.cuh"
#include "engine/cuda/kernels/planes.cuh"
#include "engine/cuda/kernels/rows.cuh"
#include "engine/cuda/kernels/vectors.cuh"

namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = row_threads;
static_assert(threads == each_threads);

struct Gather {
  Source source;
  RowShares shares;
  Positions positions;
  int full_h, full_w, channels;
  float* to;
};
// A sample's place takes three loads that depend on each other.
__global__ void __launch_bounds__(threads) gather_kernel(const __grid_constant__ Gather g) {
  wait_for_predecessor();
  const auto load = [&](int row, int c) {
    const int3 at = g.positions.of(row);
    const std::int64_t from =
        (std::int64_t{g.source.row(at.z)} * g.full_h * g.full_w + at.y * g.full_w + at.x) *
            g.channels +
        c;
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      v[i] = c + i >= g.channels ? 0.f
             : g.source.bytes    ? g.source.bytes[from + i] * (1.f / 255)
                                 : g.source.floats[from + i];
    return float4{v[0], v[1], v[2], v[3]};
  };
  g.shares.each(load, [&](int row, int c, float4 v) {
    store4(g.to + (std::int64_t{row} * g.shares.vectors * 4 + c), v);
  });
}

__global__ void __launch_bounds__(threads)
    activation_kernel(const __grid_constant__ Elementwise e) {
  wait_for_predecessor();
  EACH(i, e.count / 4) {
    float4 y = each(load4(e.input + 4 * i), [&](float x) { return activated(e.function, x); });
    if (e.function == Function::sigmoid && e.padded != e.channels) {  // sigmoid(0) ≠ 0
      const int c = static_cast<int>(4 * i % e.padded);
      y = without_padding(y, c, e.channels);
    }
    store4(e.to + 4 * i, y);
  }
}

__global__ void __launch_bounds__(threads)
    activation_backward_kernel(const __grid_constant__ Elementwise e) {
  wait_for_predecessor();
  EACH(i, e.count / 4) {
    const float4 y = load4(e.output + 4 * i), g = load4(e.gradient + 4 * i);
    store4(e.to + 4 * i, through_activation(e.function, y, g));
  }
}

// Forward and backward alike: the mask is regenerated, which is faster than storing and loading it.
// One random number decides four elements, 16 apart in a sample's numbering, which includes dead
// positions but no padding.
struct DropoutNumbers {
  DropoutGradient g;
  std::uint32_t quads;  // random numbers per sample
  Divider by_quads, by_channels, by_width;
  int height;
  bool few;    // the total is below 2^31
  bool whole;  // a sample's layout is its numbering
};
__global__ void __launch_bounds__(threads)
    dropout_kernel(const __grid_constant__ DropoutNumbers w) {
  wait_for_predecessor();
  const DropoutPass& d = w.g.pass;
  // The place in the sample of its element e, or -1.
  const auto place = [&](std::uint32_t e) {
    if (w.whole) return e < d.sample_floats ? static_cast<int>(e) : -1;
    const int position = w.by_channels.quotient(static_cast<int>(e));
    const int y = w.by_width.quotient(position), x = position - y * w.by_width.divisor;
    if (y >= w.height || x >= d.width) return -1;
    return (y * d.width + x) * d.padded + static_cast<int>(e) - position * d.channels;
  };
  EACH(i, std::int64_t{d.count} * w.quads) {
    const int sample =
        w.few ? w.by_quads.quotient(static_cast<int>(i)) : static_cast<int>(i / w.quads);
    const auto quad = static_cast<std::uint32_t>(i - std::int64_t{sample} * w.quads);
    const std::uint32_t e = quad / 16 * 64 + quad % 16;
    const std::int64_t begin = sample * d.sample_floats;
    int at[4];
    float v[4], y[4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      at[k] = place(e + 16 * k);
      v[k] = at[k] >= 0 ? d.from[begin + at[k]] : 0.f;
      if (w.g.function != Function::linear && at[k] >= 0) y[k] = w.g.value[begin + at[k]];
    }
    const uint4 words = dropout_words(d.mask, sample, e);
    const std::uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (at[k] < 0) continue;
      const float kept = word[k] >= d.mask.threshold ? v[k] * d.mask.scale : 0.f;
      float* to = d.to + begin + at[k];
      *to = through_activation(w.g.function, y[k], kept);
      // The last channel also clears the padding behind it.
      if (d.channels != d.padded && (at[k] + 1) % d.padded == d.channels)
        for (int c = d.channels; c < d.padded; ++c) to[c + 1 - d.channels] = 0;
    }
  }
}

struct PoolRows {
  PoolPass p;
  RowShares shares;
  Positions positions;
  Divider by_stride_h, by_stride_w;
};

__device__ std::int64_t row_of(int sample, int y, int x, int height, int width) {
  return (std::int64_t{sample} * height + y) * width + x;
}

// Places: ushort4, or uint4 for windows with more positions. `side`: windows of at most so many
// lines and columns, all loaded at once; 0: of any size.
constexpr int small_window = 3;
template <class Places, int side>
__global__ void __launch_bounds__(threads) max_pool_kernel(const __grid_constant__ PoolRows r) {
  wait_for_predecessor();
  const PoolPass& p = r.p;
  r.shares.each([&](int row, int c) {
    const int3 at = r.positions.of(row);
    const int top = at.y * p.stride_h - p.pad_top, left = at.x * p.stride_w - p.pad_left;
    const int y0 = max(top, 0), y1 = min(top + p.window_h, p.in_h);
    const int x0 = max(left, 0), x1 = min(left + p.window_w, p.in_w);
    float best[4];
    decltype(Places::x) winner[4];
    bool first = true;
    const auto value = [&](int y, int x) {
      return load4(p.from + row_of(at.z, y, x, p.in_h, p.in_w) * p.padded + c);
    };
    const auto meet = [&](int y, int x, float4 v4) {
      const float v[4] = {v4.x, v4.y, v4.z, v4.w};
      const auto place = static_cast<decltype(Places::x)>((y - top) * p.window_w + x - left);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (first || beats(v[i], best[i])) best[i] = v[i], winner[i] = place;
      first = false;
    };
    if constexpr (side > 0) {
      float4 v[side * side];
#pragma unroll
      for (int i = 0; i < side * side; ++i) {
        const int y = y0 + i / side, x = x0 + i % side;
        v[i] = y < y1 && x < x1 ? value(y, x) : float4{};
      }
#pragma unroll
      for (int i = 0; i < side * side; ++i)
        if (y0 + i / side < y1 && x0 + i % side < x1) meet(y0 + i / side, x0 + i % side, v[i]);
    } else {
      for (int y = y0; y < y1; ++y)
        for (int x = x0; x < x1; ++x) meet(y, x, value(y, x));
    }
    const std::int64_t to = std::int64_t{row} * p.padded + c;
    store4(p.to + to, {best[0], best[1], best[2], best[3]});
    if (p.winner)
      static_cast<Places*>(p.winner)[to / 4] = {winner[0], winner[1], winner[2], winner[3]};
  });
}

__global__ void __launch_bounds__(threads) average_pool_kernel(const __grid_constant__ PoolRows r) {
  wait_for_predecessor();
  const PoolPass& p = r.p;
  r.shares.each([&](int row, int c) {
    const int3 at = r.positions.of(row);
    const int top = at.y * p.stride_h - p.pad_top, left = at.x * p.stride_w - p.pad_left;
    const int y0 = max(top, 0), y1 = min(top + p.window_h, p.in_h);
    const int x0 = max(left, 0), x1 = min(left + p.window_w, p.in_w);
    float4 sum{};
    for (int y = y0; y < y1; ++y)
#pragma unroll 4
      for (int x = x0; x < x1; ++x)
        sum = sum + load4(p.from + row_of(at.z, y, x, p.in_h, p.in_w) * p.padded + c);
    store4(p.to + std::int64_t{row} * p.padded + c,
           sum * (1 / static_cast<float>((y1 - y0) * (x1 - x0))));
  });
}

// A window that is the whole image: blocks of a sample and some vectors of it, whose groups of
// threads divide the positions.
constexpr int plane_threads = 1024;
__global__ void __launch_bounds__(plane_threads)
    plane_mean_kernel(const __grid_constant__ PoolRows r) {
  __shared__ float4 sums[plane_threads];
  wait_for_predecessor();
  const PoolPass& p = r.p;
  const int columns = r.shares.columns, groups = blockDim.x / columns;
  const int group = threadIdx.x / columns;
  const int sample = blockIdx.x / r.shares.tiles, tile = blockIdx.x - sample * r.shares.tiles;
  const int vector = tile * columns + threadIdx.x - group * columns;
  const bool real = group < groups && vector < r.shares.vectors;
  const int positions = p.in_h * p.in_w;
  const float* from = p.from + std::int64_t{sample} * positions * p.padded + 4 * vector;
  float4 sum{};
#pragma unroll 4
  for (int i = group; real && i < positions; i += groups)
    sum = sum + load4(from + std::int64_t{i} * p.padded);
  for (int width = groups; width > 1;) {
    const int half = (width + 1) / 2;
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (group + half < width) sum = sum + sums[threadIdx.x + half * columns];
    __syncthreads();
    width = half;
  }
  if (real && group == 0)
    store4(p.to + std::int64_t{sample} * p.padded + 4 * vector,
           sum * (1 / static_cast<float>(positions)));
}

// The same for the maximum. Of equal values the first wins and of several NaN the last, as in one
// thread.
__device__ bool wins(float v, std::uint32_t place, float best, std::uint32_t best_place) {
  const bool later = place > best_place;
  if (v != v || best != best) return v != v && (best == best || later);
  return v > best || (v == best && !later);
}
template <class Places>
__global__ void __launch_bounds__(plane_threads)
    plane_max_kernel(const __grid_constant__ PoolRows r) {
  __shared__ float4 values[plane_threads];
  __shared__ uint4 places[plane_threads];
  wait_for_predecessor();
  const PoolPass& p = r.p;
  const int columns = r.shares.columns, groups = blockDim.x / columns;
  const int group = threadIdx.x / columns;
  const int sample = blockIdx.x / r.shares.tiles, tile = blockIdx.x - sample * r.shares.tiles;
  const int vector = tile * columns + threadIdx.x - group * columns;
  const bool real = group < groups && vector < r.shares.vectors;
  const int positions = p.in_h * p.in_w;
  const float* from = p.from + std::int64_t{sample} * positions * p.padded + 4 * vector;
  float best[4] = {};
  std::uint32_t winner[4] = {};
  const auto meet = [&](float4 v, uint4 place) {
    const float value[4] = {v.x, v.y, v.z, v.w};
    const std::uint32_t at[4] = {place.x, place.y, place.z, place.w};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (wins(value[i], at[i], best[i], winner[i])) best[i] = value[i], winner[i] = at[i];
  };
  // A group without positions of its own enters with the first of all.
  const int first = group < positions ? group : 0;
  if (real) {
    const float4 v = load4(from + std::int64_t{first} * p.padded);
    best[0] = v.x, best[1] = v.y, best[2] = v.z, best[3] = v.w;
  }
  for (std::uint32_t& place : winner) place = first;
#pragma unroll 4
  for (int i = group + groups; real && i < positions; i += groups) {
    const auto at = static_cast<std::uint32_t>(i);
    meet(load4(from + std::int64_t{i} * p.padded), {at, at, at, at});
  }
  for (int width = groups; width > 1;) {
    const int half = (width + 1) / 2;
    values[threadIdx.x] = {best[0], best[1], best[2], best[3]};
    places[threadIdx.x] = {winner[0], winner[1], winner[2], winner[3]};
    __syncthreads();
    if (group + half < width)
      meet(values[threadIdx.x + half * columns], places[threadIdx.x + half * columns]);
    __syncthreads();
    width = half;
  }
  if (!real || group != 0) return;
  const std::int64_t to = std::int64_t{sample} * p.padded + 4 * vector;
  store4(p.to + to, {best[0], best[1], best[2], best[3]});
  using Place = decltype(Places::x);
  if (p.winner)
    static_cast<Places*>(p.winner)[to / 4] = {
        static_cast<Place>(winner[0]), static_cast<Place>(winner[1]), static_cast<Place>(winner[2]),
        static_cast<Place>(winner[3])};
}

// Every input element gathers from the windows that may have read it: no element is written twice.
// `overlap`: at most so many windows along each axis, all loaded at once; 0: any number.
constexpr int small_overlap = 2;
template <bool max_pool, class Places, int overlap>
__global__ void __launch_bounds__(threads)
    pool_backward_kernel(const __grid_constant__ PoolRows r) {
  wait_for_predecessor();
  const PoolPass& p = r.p;
  r.shares.each([&](int row, int c) {
    const int3 at = r.positions.of(row);
    const int y = at.y + p.pad_top, x = at.x + p.pad_left;
    const int first_y = max(0, r.by_stride_h.quotient(max(0, y - p.window_h + p.stride_h)));
    const int first_x = max(0, r.by_stride_w.quotient(max(0, x - p.window_w + p.stride_w)));
    const int last_y = min(p.out_h - 1, r.by_stride_h.quotient(y));
    const int last_x = min(p.out_w - 1, r.by_stride_w.quotient(x));
    // What an element gets of a window's gradient.
    const auto share = [&](int oy, int ox, float4 g, const Places& winner) {
      if constexpr (max_pool) {
        const unsigned place = (y - oy * p.stride_h) * p.window_w + x - ox * p.stride_w;
        return float4{winner.x == place ? g.x : 0.f, winner.y == place ? g.y : 0.f,
                      winner.z == place ? g.z : 0.f, winner.w == place ? g.w : 0.f};
      } else {
        const int top = oy * p.stride_h - p.pad_top, left = ox * p.stride_w - p.pad_left;
        const int high = min(top + p.window_h, p.in_h) - max(top, 0);
        const int wide = min(left + p.window_w, p.in_w) - max(left, 0);
        return g * (1 / static_cast<float>(high * wide));
      }
    };
    const auto load = [&](int oy, int ox, float4& g, Places& winner) {
      const std::int64_t out = row_of(at.z, oy, ox, p.out_h, p.out_w) * p.padded + c;
      g = load4(p.from + out);
      if constexpr (max_pool) winner = static_cast<const Places*>(p.winner)[out / 4];
    };
    float4 sum{};
    if constexpr (overlap > 0) {
      float4 g[overlap * overlap];
      Places winner[overlap * overlap];
#pragma unroll
      for (int i = 0; i < overlap * overlap; ++i) {
        const int oy = first_y + i / overlap, ox = first_x + i % overlap;
        if (oy <= last_y && ox <= last_x) load(oy, ox, g[i], winner[i]);
      }
#pragma unroll
      for (int i = 0; i < overlap * overlap; ++i) {
        const int oy = first_y + i / overlap, ox = first_x + i % overlap;
        if (oy <= last_y && ox <= last_x) sum = sum + share(oy, ox, g[i], winner[i]);
      }
    } else {
      for (int oy = first_y; oy <= last_y; ++oy)
        for (int ox = first_x; ox <= last_x; ++ox) {
          float4 g;
          Places winner;
          load(oy, ox, g, winner);
          sum = sum + share(oy, ox, g, winner);
        }
    }
    const std::int64_t to = std::int64_t{row} * p.padded + c;
    store4(p.to + to, p.function == Function::linear
                          ? sum
                          : through_activation(p.function, load4(p.value + to), sum));
  });
}

// The mean of a whole image, backward.
struct PlaneRows {
  PoolPass p;
  RowShares shares;
  Divider by_positions;
};
__global__ void __launch_bounds__(threads)
    plane_mean_backward_kernel(const __grid_constant__ PlaneRows r) {
  wait_for_predecessor();
  const PoolPass& p = r.p;
  const float share = 1 / static_cast<float>(p.in_h * p.in_w);
  const auto load = [&](int row, int c) {
    const float4 g =
        load4(p.from + std::int64_t{r.by_positions.quotient(row)} * p.padded + c) * share;
    return p.function == Function::linear
               ? g
               : through_activation(p.function, load4(p.value + std::int64_t{row} * p.padded + c),
                                    g);
  };
  r.shares.each(
      load, [&](int row, int c, float4 v) { store4(p.to + std::int64_t{row} * p.padded + c, v); });
}

PoolRows pool_rows(const PoolPass& p, int height, int width) {
  return {p, RowShares(std::int64_t{p.count} * height * width, p.padded), Positions(height, width),
          Divider(static_cast<std::uint32_t>(p.stride_h)),
          Divider(static_cast<std::uint32_t>(p.stride_w))};
}

bool whole_plane(const PoolPass& p) {
  return p.window_h == p.in_h && p.window_w == p.in_w && p.out_h * p.out_w == 1;
}

// As many threads as there are positions for, each with at most a few, in blocks of fewer vectors
// where positions are many; but at least two vectors, a sector of memory.
cudaError_t launch_plane(PoolRows r, cudaStream_t stream) {
  constexpr int positions_each = 4, least_columns = 2;
  const int positions = r.p.in_h * r.p.in_w;
  int block = threads;
  const auto many = [&] { return positions > positions_each * (block / r.shares.columns); };
  while (block < plane_threads && many()) block *= 2;
  while (r.shares.columns >= 2 * least_columns && many())
    r.shares.columns = (r.shares.columns + 1) / 2;
  r.shares.tiles = (r.shares.vectors + r.shares.columns - 1) / r.shares.columns;
  return launch(!r.p.max            ? plane_mean_kernel
                : r.p.wide_places() ? plane_max_kernel<uint4>
                                    : plane_max_kernel<ushort4>,
                r.p.count * r.shares.tiles, block, 0, stream, r);
}

}  // namespace

cudaError_t launch_gather(const Source& source, int count, int full_h, int full_w, int channels,
                          int live_h, int live_w, int padded, float* to, cudaStream_t stream) {
  const Gather g{source,
                 RowShares(std::int64_t{count} * live_h * live_w, padded),
                 Positions(live_h, live_w),
                 full_h,
                 full_w,
                 channels,
                 to};
  return launch(gather_kernel, g.shares.fewer_blocks(current_chip().multiprocessors), threads, 0,
                stream, g);
}
cudaError_t launch_activation(const Elementwise& e, cudaStream_t stream) {
  return launch(activation_kernel, blocks_for(e.count / 4), threads, 0, stream, e);
}
cudaError_t launch_activation_backward(const Elementwise& e, cudaStream_t stream) {
  return launch(activation_backward_kernel, blocks_for(e.count / 4), threads, 0, stream, e);
}
cudaError_t launch_dropout(const DropoutPass& d, cudaStream_t stream) {
  return launch_dropout_gradient({d, Function::linear, nullptr}, stream);
}
cudaError_t launch_dropout_gradient(const DropoutGradient& g, cudaStream_t stream) {
  const DropoutPass& d = g.pass;
  DropoutNumbers w{g};
  w.height = static_cast<int>(d.sample_floats / d.padded) / d.width;
  const auto numbered = static_cast<std::uint32_t>(w.height * d.channels) * d.mask.full_width;
  w.quads = (numbered + 63) / 64 * 16, w.by_quads = Divider(w.quads);
  w.by_channels = Divider(static_cast<std::uint32_t>(d.channels));
  w.by_width = Divider(d.mask.full_width);
  const std::int64_t numbers = std::int64_t{d.count} * w.quads;
  w.few = numbers < std::int64_t{1} << 31;
  w.whole = d.channels == d.padded && d.width == static_cast<int>(d.mask.full_width);
  return launch(dropout_kernel, blocks_for(numbers), threads, 0, stream, w);
}
cudaError_t launch_pool(const PoolPass& p, cudaStream_t stream) {
  const PoolRows r = pool_rows(p, p.out_h, p.out_w);
  constexpr int many_positions = 16;
  if (whole_plane(p) && p.in_h * p.in_w >= many_positions) return launch_plane(r, stream);
  if (p.max)
    return launch(p.window_h <= small_window && p.window_w <= small_window
                      ? max_pool_kernel<ushort4, small_window>
                  : p.wide_places() ? max_pool_kernel<uint4, 0>
                                    : max_pool_kernel<ushort4, 0>,
                  r.shares.blocks(), threads, 0, stream, r);
  return launch(average_pool_kernel, r.shares.blocks(), threads, 0, stream, r);
}
cudaError_t launch_pool_backward(const PoolPass& p, cudaStream_t stream) {
  const PoolRows r = pool_rows(p, p.in_h, p.in_w);
  if (whole_plane(p) && !p.max) {
    const PlaneRows plane{p, r.shares, Divider(static_cast<std::uint32_t>(p.in_h * p.in_w))};
    return launch(plane_mean_backward_kernel, r.shares.fewer_blocks(current_chip().multiprocessors),
                  threads, 0, stream, plane);
  }
  const bool small = p.window_h <= small_overlap * p.stride_h &&
                     p.window_w <= small_overlap * p.stride_w && !p.wide_places();
  const auto kernel = small    ? (p.max ? pool_backward_kernel<true, ushort4, small_overlap>
                                        : pool_backward_kernel<false, ushort4, small_overlap>)
                      : !p.max ? pool_backward_kernel<false, ushort4, 0>
                      : p.wide_places() ? pool_backward_kernel<true, uint4, 0>
                                        : pool_backward_kernel<true, ushort4, 0>;
  return launch(kernel, r.shares.blocks(), threads, 0, stream, r);
}

}  // namespace sweetspot::engine::cuda
