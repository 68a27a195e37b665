#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/grid_stride.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/kernels/rows.cuh"
#include "engine/cuda/kernels/split_floats.cuh"
#include "engine/cuda/kernels/vectors.cuh"

// Convolutions with one filter per channel: four channels per thread, so that loads of floats are
// 16 bytes wide. What is read may have 16 bits each (`half`).
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = each_threads;

// Adjacent positions of a line that a thread computes: it loads each tap's weights, and each pixel
// of a line that several of them read, once.
constexpr int side_by_side = 4;
int runs_of(int width) { return (width + side_by_side - 1) / side_by_side; }

struct DepthwiseLines {
  Plane in, out;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  bool relu;
  bool turned;  // the kernel by half a turn: the input's gradient without strides
  const float *from, *weights, *bias;
  float* to;
  ValueTerms from_terms, to_terms;
  RowShares shares;  // of runs
  int runs;
  Divider by_runs, by_height;
};

// The pixels that the run at `left` reads of the line at an element, zero outside of it.
template <bool half, int columns>
__device__ void load_columns(float4 (&x)[columns], const float* from, std::int64_t line, int left,
                             const Plane& in, bool fp16) {
  Raw4<half> raw[columns];
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const bool inside = static_cast<unsigned>(left + i) < in.width;
    raw[i] = inside ? load_raw4<half>(from, line + (left + i) * in.pitch) : Raw4<half>{};
  }
#pragma unroll
  for (int i = 0; i < columns; ++i) x[i] = floats_of(raw[i], fp16);
}

// A kernel of `width` taps, or of any if that is 0.
template <int width, int stride, bool half>
__global__ void __launch_bounds__(threads)
    depthwise_kernel(const __grid_constant__ DepthwiseLines d) {
  wait_for_predecessor();
  d.shares.each([&](int row, int c) {
    const int line = d.by_runs.quotient(row), x0 = (row - line * d.runs) * side_by_side;
    const int sample = d.by_height.quotient(line), y = line - sample * d.out.height;
    const int top = y * d.stride_h - d.pad_top, left = x0 * d.stride_w - d.pad_left;
    const std::int64_t from = std::int64_t{sample} * d.in.floats() + c;
    const int step = d.turned ? -d.in.pitch : d.in.pitch;
    const float* weights =
        d.weights + c + (d.turned ? (d.kernel_h * d.kernel_w - 1) * d.in.pitch : 0);
    float4 sum[side_by_side];
    const float4 bias = d.bias ? load4(d.bias + c) : float4{};
#pragma unroll
    for (int k = 0; k < side_by_side; ++k) sum[k] = bias;
    for (int ky = max(0, -top); ky < min(d.kernel_h, d.in.height - top); ++ky) {
      const std::int64_t pixels = from + (top + ky) * d.in.width * d.in.pitch;
      const float* w = weights + ky * d.kernel_w * step;
      if constexpr (width > 0) {
        float4 x[(side_by_side - 1) * stride + width];
        load_columns<half>(x, d.from, pixels, left, d.in, d.from_terms.fp16);
#pragma unroll
        for (int kx = 0; kx < width; ++kx) {
          const float4 tap = load4(w + kx * step);
#pragma unroll
          for (int k = 0; k < side_by_side; ++k) sum[k] = sum[k] + tap * x[k * stride + kx];
        }
      } else {
        for (int kx = 0; kx < d.kernel_w; ++kx) {
          const float4 tap = load4(w + kx * step);
#pragma unroll
          for (int k = 0; k < side_by_side; ++k) {
            const int at = left + k * d.stride_w + kx;
            if (static_cast<unsigned>(at) < d.in.width)
              sum[k] = sum[k] + tap * floats_of(load_raw4<half>(d.from, pixels + at * d.in.pitch),
                                                d.from_terms.fp16);
          }
        }
      }
    }
    const std::int64_t to = (std::int64_t{line} * d.out.width + x0) * d.out.pitch + c;
#pragma unroll
    for (int k = 0; k < side_by_side; ++k) {
      if (x0 + k >= d.out.width) break;
      float4 v = sum[k];
      if (d.relu) v = each(v, [](float e) { return rectified(e); });
      store_value4(d.to, d.to_terms, to + k * d.out.pitch, v);
    }
  });
}

// Few outputs of small kernels: one of each thread, with all taps' loads under way at once, and
// those of the weights before the predecessor ends.
constexpr int small_side = 3;
struct DepthwiseSmall {
  DepthwiseLines d;
  int spread_h, spread_w;  // strides whose gradient this is
  Divider by_spread_h, by_spread_w, by_out_w;
};
template <bool half>
__global__ void __launch_bounds__(threads)
    depthwise_small_kernel(const __grid_constant__ DepthwiseSmall small) {
  constexpr int most_taps = small_side * small_side;
  const DepthwiseLines& d = small.d;
  const int columns = d.shares.columns, groups = threads / columns, group = threadIdx.x / columns;
  const int block = blockIdx.x / d.shares.tiles, tile = blockIdx.x - block * d.shares.tiles;
  const int vector = tile * columns + threadIdx.x - group * columns, c = 4 * vector;
  const int position = block * groups + group;
  const bool real = group < groups && vector < d.shares.vectors && position < d.shares.rows;
  const int last = d.kernel_h * d.kernel_w - 1;
  float4 weights[most_taps], sum{};
#pragma unroll
  for (int i = 0; i < most_taps; ++i) {
    const int ky = i / small_side, kx = i % small_side, tap = ky * d.kernel_w + kx;
    const bool exists = real && ky < d.kernel_h && kx < d.kernel_w;
    weights[i] =
        exists ? load4(d.weights + (d.turned ? last - tap : tap) * d.in.pitch + c) : float4{};
  }
  if (real && d.bias) sum = load4(d.bias + c);
  wait_for_predecessor();
  if (!real) return;
  const int line = small.by_out_w.quotient(position), column = position - line * d.out.width;
  const int sample = d.by_height.quotient(line);
  const int top = (line - sample * d.out.height) * d.stride_h - d.pad_top;
  const int left = column * d.stride_w - d.pad_left;
  const std::int64_t from = std::int64_t{sample} * d.in.floats() + c;
  Raw4<half> x[most_taps];
#pragma unroll
  for (int i = 0; i < most_taps; ++i) {
    const int v = top + i / small_side, u = left + i % small_side;
    const int y = small.by_spread_h.quotient(max(v, 0)), at = small.by_spread_w.quotient(max(u, 0));
    const bool inside = i / small_side < d.kernel_h && i % small_side < d.kernel_w &&
                        y * small.spread_h == v && at * small.spread_w == u && y < d.in.height &&
                        at < d.in.width;
    x[i] =
        inside ? load_raw4<half>(d.from, from + (y * d.in.width + at) * d.in.pitch) : Raw4<half>{};
  }
#pragma unroll
  for (int i = 0; i < most_taps; ++i) sum = sum + weights[i] * floats_of(x[i], d.from_terms.fp16);
  if (d.relu) sum = each(sum, [](float e) { return rectified(e); });
  store_value4(d.to, d.to_terms, std::int64_t{position} * d.out.pitch + c, sum);
}
bool runs_small(const Plane& out, int kernel_h, int kernel_w, int count) {
  constexpr std::int64_t threads_each = 2048;  // of a multiprocessor
  return kernel_h <= small_side && kernel_w <= small_side &&
         std::int64_t{count} * out.floats() / 4 <= threads_each * current_chip().multiprocessors;
}
cudaError_t launch_small(DepthwiseLines d, int count, int spread_h, int spread_w,
                         cudaStream_t stream) {
  const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
  d.shares = RowShares(std::int64_t{count} * d.out.height * d.out.width, d.out.pitch);
  d.by_height = by(d.out.height);
  const DepthwiseSmall small{d, spread_h, spread_w, by(spread_h), by(spread_w), by(d.out.width)};
  return launch(
      d.from_terms.terms > 0 ? depthwise_small_kernel<true> : depthwise_small_kernel<false>,
      d.shares.blocks(), threads, 0, stream, small);
}

// Kernels of many taps with few outputs: a position of each thread, several of which divide the
// taps along the longer side of the kernel and add their sums in order.
struct DepthwiseTaps {
  DepthwiseLines d;
  int sharers;
  bool tall;
  Divider by_sharers, by_out_w;
};
template <bool half>
__global__ void __launch_bounds__(threads)
    depthwise_taps_kernel(const __grid_constant__ DepthwiseTaps taps) {
  __shared__ float4 sums[threads];
  wait_for_predecessor();
  const DepthwiseLines& d = taps.d;
  const int columns = d.shares.columns, group = threadIdx.x / columns;
  const int block = blockIdx.x / d.shares.tiles, tile = blockIdx.x - block * d.shares.tiles;
  const int vector = tile * columns + threadIdx.x - group * columns, c = 4 * vector;
  const int among = taps.by_sharers.quotient(group), share = group - among * taps.sharers;
  const int each_block = threads / columns / taps.sharers, position = block * each_block + among;
  const bool real = among < each_block && vector < d.shares.vectors && position < d.shares.rows;
  float4 sum{};
  if (real) {
    const int line = taps.by_out_w.quotient(position), x = position - line * d.out.width;
    const int sample = d.by_height.quotient(line), y = line - sample * d.out.height;
    const int top = y * d.stride_h - d.pad_top, left = x * d.stride_w - d.pad_left;
    const int y1 = min(d.kernel_h, d.in.height - top), x1 = min(d.kernel_w, d.in.width - left);
    const int y0 = max(0, -top), x0 = max(0, -left);
    const int step_y = taps.tall ? taps.sharers : 1, step_x = taps.tall ? 1 : taps.sharers;
    const std::int64_t from = std::int64_t{sample} * d.in.floats() + c;
    const int last = d.kernel_h * d.kernel_w - 1;
    for (int ky = y0 + (taps.tall ? share : 0); ky < y1; ky += step_y)
#pragma unroll 4
      for (int kx = x0 + (taps.tall ? 0 : share); kx < x1; kx += step_x) {
        const int tap = ky * d.kernel_w + kx;
        const std::int64_t at = from + ((top + ky) * d.in.width + left + kx) * d.in.pitch;
        sum = sum + load4(d.weights + (d.turned ? last - tap : tap) * d.in.pitch + c) *
                        floats_of(load_raw4<half>(d.from, at), d.from_terms.fp16);
      }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (!real || share > 0) return;
  for (int i = 1; i < taps.sharers; ++i) sum = sum + sums[threadIdx.x + i * columns];
  if (d.bias) sum = sum + load4(d.bias + c);
  if (d.relu) sum = each(sum, [](float e) { return rectified(e); });
  store_value4(d.to, d.to_terms, std::int64_t{position} * d.out.pitch + c, sum);
}

template <bool half>
auto lines_kernel(int width, int stride) {
  return width == 3 && stride == 1   ? depthwise_kernel<3, 1, half>
         : width == 3 && stride == 2 ? depthwise_kernel<3, 2, half>
         : width == 5 && stride == 1 ? depthwise_kernel<5, 1, half>
         : width == 5 && stride == 2 ? depthwise_kernel<5, 2, half>
                                     : depthwise_kernel<0, 1, half>;
}

// How many threads divide the taps of an output: as many as the chip has, each with a few taps.
int sharers_for(const DepthwiseLines& d, int count) {
  constexpr std::int64_t threads_each = 1024;  // of a multiprocessor
  constexpr int taps_each = 2;
  const RowShares shares(std::int64_t{count} * d.out.height * d.out.width, d.out.pitch);
  const int side = std::max(std::min(d.kernel_h, d.in.height), std::min(d.kernel_w, d.in.width));
  const int most = std::min(side / taps_each, threads / shares.columns);
  const std::int64_t busy = threads_each * current_chip().multiprocessors;
  int sharers = 1;
  while (2 * sharers <= most && std::int64_t{shares.rows} * shares.vectors * sharers < busy)
    sharers *= 2;
  return sharers;
}

cudaError_t launch_taps(DepthwiseLines d, int count, int sharers, cudaStream_t stream) {
  const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
  d.shares = RowShares(std::int64_t{count} * d.out.height * d.out.width, d.out.pitch);
  d.by_height = by(d.out.height);
  const bool tall = std::min(d.kernel_h, d.in.height) >= std::min(d.kernel_w, d.in.width);
  const DepthwiseTaps taps{d, sharers, tall, by(sharers), by(d.out.width)};
  const int each_block = threads / d.shares.columns / sharers;
  return launch(d.from_terms.terms > 0 ? depthwise_taps_kernel<true> : depthwise_taps_kernel<false>,
                (d.shares.rows + each_block - 1) / each_block * d.shares.tiles, threads, 0, stream,
                taps);
}

cudaError_t launch_lines(DepthwiseLines d, int count, cudaStream_t stream) {
  if (runs_small(d.out, d.kernel_h, d.kernel_w, count)) return launch_small(d, count, 1, 1, stream);
  const bool unrolled = d.kernel_w == 3 || d.kernel_w == 5;
  if (const int sharers = unrolled ? 1 : sharers_for(d, count); sharers > 1)
    return launch_taps(d, count, sharers, stream);
  d.runs = runs_of(d.out.width), d.by_runs = Divider(static_cast<std::uint32_t>(d.runs));
  d.by_height = Divider(static_cast<std::uint32_t>(d.out.height));
  d.shares = RowShares(std::int64_t{count} * d.out.height * d.runs, d.out.pitch);
  const auto kernel = d.from_terms.terms > 0 ? lines_kernel<true>(d.kernel_w, d.stride_w)
                                             : lines_kernel<false>(d.kernel_w, d.stride_w);
  return launch(kernel, d.shares.blocks(), threads, 0, stream, d);
}

__global__ void mask_kernel(const __grid_constant__ DepthwisePass d) {
  wait_for_predecessor();
  EACH(i, std::int64_t{d.count} * d.out.floats() / 4) {
    const float4 y = load4(d.output + 4 * i);
    float4 g = load4(d.gradient + 4 * i);
    g = {y.x > 0 ? g.x : 0.f, y.y > 0 ? g.y : 0.f, y.z > 0 ? g.z : 0.f, y.w > 0 ? g.w : 0.f};
    store4(d.gradient + 4 * i, g);
  }
}

// A block has up to 32 groups of four channels, and its threads iterate over the positions.
struct Lanes {
  int lanes, groups, rows;
};
__host__ __device__ Lanes lanes_of(int pitch) {
  Lanes n{};
  const int fours = pitch / 4;
  n.lanes = 1;
  while (n.lanes < 32 && n.lanes < fours) n.lanes *= 2;
  n.groups = (fours + n.lanes - 1) / n.lanes, n.rows = threads / n.lanes;
  return n;
}

// With strides, each position gathers from the taps that meet it.
struct DepthwiseData {
  DepthwisePass d;
  Divider by_stride_h, by_stride_w;
};
template <bool half>
__global__ void __launch_bounds__(threads)
    depthwise_data_kernel(const __grid_constant__ DepthwiseData data) {
  wait_for_predecessor();
  const DepthwisePass& d = data.d;
  const Lanes n = lanes_of(d.in.pitch);
  const int c = (blockIdx.y * n.lanes + threadIdx.x % n.lanes) * 4;
  if (c >= d.in.pitch) return;
  const int positions = d.count * d.in.height * d.in.width;
  for (int i = blockIdx.x * n.rows + threadIdx.x / n.lanes; i < positions;
       i += gridDim.x * n.rows) {
    const int line = d.by_in_width.quotient(i), sample = d.by_in_height.quotient(line);
    const int x = i - line * d.in.width + d.pad_left;
    const int y = line - sample * d.in.height + d.pad_top;
    const std::int64_t from = std::int64_t{sample} * d.out.floats() + c;
    float4 sum{};
    const int last_y = data.by_stride_h.quotient(y), last_x = data.by_stride_w.quotient(x);
    for (int ky = y - last_y * d.stride_h, oy = last_y; ky < d.kernel_h; ky += d.stride_h, --oy) {
      if (static_cast<unsigned>(oy) >= d.out.height) continue;
      for (int kx = x - last_x * d.stride_w, ox = last_x; kx < d.kernel_w; kx += d.stride_w, --ox)
        if (static_cast<unsigned>(ox) < d.out.width)
          sum = sum + load4(d.weights + (ky * d.kernel_w + kx) * d.in.pitch + c) *
                          floats_of(load_raw4<half>(d.gradient,
                                                    from + (oy * d.out.width + ox) * d.out.pitch),
                                    d.gradient_terms.fp16);
    }
    store_value4(d.input_gradient, d.input_gradient_terms, std::int64_t{i} * d.in.pitch + c, sum);
  }
}

// A block has some channels, some taps and a split of the outputs; its threads iterate over those.
constexpr int taps_at_once = 9;
using TapSums = float4[taps_at_once + 1];  // the last is the bias's
__host__ __device__ int tap_groups(const DepthwisePass& d) {
  return (d.taps() + taps_at_once - 1) / taps_at_once;
}

// Adds the sums of all rows of threads, in a fixed order: in each warp, then over the warps.
__device__ void store_tap_sums(const DepthwisePass& d, TapSums& sum, int tap0, int split, int c) {
  constexpr int warps = threads / 32;
  __shared__ float4 parts[taps_at_once + 1][warps][32];
  const Lanes n = lanes_of(d.out.pitch);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int t = 0; t <= taps_at_once; ++t) {
    for (int distance = n.lanes; distance < 32; distance *= 2)
      sum[t] = sum[t] + float4{__shfl_xor_sync(0xffffffffu, sum[t].x, distance),
                               __shfl_xor_sync(0xffffffffu, sum[t].y, distance),
                               __shfl_xor_sync(0xffffffffu, sum[t].z, distance),
                               __shfl_xor_sync(0xffffffffu, sum[t].w, distance)};
    if (lane < n.lanes) parts[t][warp][lane] = sum[t];
  }
  __syncthreads();
  // A row of threads per tap; a row's lanes have the same channels as above.
  float* to = d.partials + split * d.partial_stride + c;
  for (int t = threadIdx.x / n.lanes; t <= taps_at_once; t += n.rows) {
    const bool bias = t == taps_at_once;
    if (c >= d.out.pitch || (bias ? tap0 > 0 || !d.bias : tap0 + t >= d.taps())) continue;
    float4 total{};
#pragma unroll
    for (int w = 0; w < warps; ++w) total = total + parts[t][w][threadIdx.x % n.lanes];
    if (d.state && !isfinite(total.x + total.y + total.z + total.w)) d.state->bad = 1;
    store4(to + (bias ? d.taps() : tap0 + t) * d.out.pitch, total);
  }
}

template <bool half_x, bool half_g>
__global__ void __launch_bounds__(threads)
    depthwise_weights_kernel(const __grid_constant__ DepthwisePass d) {
  wait_for_predecessor();
  const Lanes n = lanes_of(d.out.pitch);
  const int groups = tap_groups(d), split = blockIdx.x / groups;
  const int tap0 = (blockIdx.x - split * groups) * taps_at_once;
  const int lane = threadIdx.x % n.lanes, row = threadIdx.x / n.lanes;
  const int c = (blockIdx.y * n.lanes + lane) * 4;
  const bool real = c < d.out.pitch;
  const int taps = min(taps_at_once, d.taps() - tap0);
  int tap_y[taps_at_once], tap_x[taps_at_once];
#pragma unroll
  for (int t = 0; t < taps_at_once; ++t) {
    tap_y[t] = (tap0 + t) / d.kernel_w, tap_x[t] = tap0 + t - tap_y[t] * d.kernel_w;
    if (t >= taps) tap_y[t] = -(1 << 20);  // outside every image
  }
  TapSums sum = {};
  const std::int64_t outputs = std::int64_t{d.count} * d.out.height * d.out.width;
  const auto begin = static_cast<int>(outputs * split / d.splits);
  const auto end = static_cast<int>(outputs * (split + 1) / d.splits);
  for (int o = begin + row; real && o < end; o += n.rows) {
    const int line = d.by_out_width.quotient(o), sample = d.by_out_height.quotient(line);
    const int top = (line - sample * d.out.height) * d.stride_h - d.pad_top;
    const int left = (o - line * d.out.width) * d.stride_w - d.pad_left;
    const Raw4<half_g> raw_g = load_raw4<half_g>(d.gradient, std::int64_t{o} * d.out.pitch + c);
    const std::int64_t from = std::int64_t{sample} * d.in.floats() + c;
    Raw4<half_x> x[taps_at_once];
#pragma unroll
    for (int t = 0; t < taps_at_once; ++t) {
      const int y = top + tap_y[t], at = left + tap_x[t];
      const bool inside =
          static_cast<unsigned>(y) < d.in.height && static_cast<unsigned>(at) < d.in.width;
      x[t] = inside ? load_raw4<half_x>(d.input, from + (y * d.in.width + at) * d.in.pitch)
                    : Raw4<half_x>{};
    }
    const float4 g = floats_of(raw_g, d.gradient_terms.fp16);
    sum[taps_at_once] = sum[taps_at_once] + g;
#pragma unroll
    for (int t = 0; t < taps_at_once; ++t)
      sum[t] = sum[t] + g * floats_of(x[t], d.input_terms.fp16);
  }
  store_tap_sums(d, sum, tap0, split, c);
}

// The same for kernels of up to three lines of three taps, by runs of adjacent outputs.
struct DepthwiseRuns {
  DepthwisePass d;
  int runs;
  Divider by_runs;
};
template <int stride, bool half_x, bool half_g>
__global__ void __launch_bounds__(threads)
    depthwise_run_weights_kernel(const __grid_constant__ DepthwiseRuns r) {
  wait_for_predecessor();
  constexpr int side = 3;
  const DepthwisePass& d = r.d;
  const Lanes n = lanes_of(d.out.pitch);
  const int split = blockIdx.x, row = threadIdx.x / n.lanes;
  const int c = (blockIdx.y * n.lanes + threadIdx.x % n.lanes) * 4;
  TapSums sum = {};
  const std::int64_t all = std::int64_t{d.count} * d.out.height * r.runs;
  const auto begin = static_cast<int>(all * split / d.splits);
  const auto end = static_cast<int>(all * (split + 1) / d.splits);
  for (int run = begin + row; c < d.out.pitch && run < end; run += n.rows) {
    const int line = r.by_runs.quotient(run), x0 = (run - line * r.runs) * side_by_side;
    const int sample = d.by_out_height.quotient(line);
    const int top = (line - sample * d.out.height) * d.stride_h - d.pad_top;
    const std::int64_t gradients = std::int64_t{line} * d.out.width * d.out.pitch + c;
    const std::int64_t from = std::int64_t{sample} * d.in.floats() + c;
    float4 g[side_by_side];
    load_columns<half_g>(g, d.gradient, gradients, x0, d.out, d.gradient_terms.fp16);
#pragma unroll
    for (int k = 0; k < side_by_side; ++k) sum[taps_at_once] = sum[taps_at_once] + g[k];
#pragma unroll
    for (int ky = 0; ky < side; ++ky) {
      if (ky >= d.kernel_h || static_cast<unsigned>(top + ky) >= d.in.height) continue;
      float4 x[(side_by_side - 1) * stride + side];
      load_columns<half_x>(x, d.input, from + (top + ky) * d.in.width * d.in.pitch,
                           x0 * stride - d.pad_left, d.in, d.input_terms.fp16);
#pragma unroll
      for (int kx = 0; kx < side; ++kx)
#pragma unroll
        for (int k = 0; k < side_by_side; ++k)
          sum[ky * side + kx] = sum[ky * side + kx] + g[k] * x[k * stride + kx];
    }
  }
  store_tap_sums(d, sum, 0, split, c);
}

}  // namespace

// About four blocks per multiprocessor, and each thread some outputs.
int depthwise_splits(const DepthwisePass& d, std::int64_t count, int multiprocessors) {
  const Lanes n = lanes_of(d.out.pitch);
  const std::int64_t outputs = count * d.out.height * d.out.width;
  return static_cast<int>(
      std::clamp<std::int64_t>(4 * multiprocessors / (n.groups * tap_groups(d)), 1,
                               std::max<std::int64_t>(1, outputs / (4 * n.rows))));
}

cudaError_t launch_depthwise(const DepthwisePass& d, cudaStream_t stream) {
  DepthwiseLines lines{d.in, d.out, d.kernel_h, d.kernel_w, d.stride_h, d.stride_w};
  lines.pad_top = d.pad_top, lines.pad_left = d.pad_left, lines.relu = d.relu;
  lines.from = d.input, lines.weights = d.weights, lines.bias = d.bias, lines.to = d.output;
  lines.from_terms = d.input_terms, lines.to_terms = d.output_terms;
  return launch_lines(lines, d.count, stream);
}

cudaError_t launch_depthwise_mask(const DepthwisePass& d, cudaStream_t stream) {
  return launch(mask_kernel, blocks_for(std::int64_t{d.count} * d.out.floats() / 4), threads, 0,
                stream, d);
}
template <bool half_x, bool half_g>
cudaError_t launch_weights(const DepthwisePass& d, cudaStream_t stream) {
  const auto groups = static_cast<unsigned>(lanes_of(d.out.pitch).groups);
  if (d.kernel_w == 3 && d.kernel_h <= 3 && d.stride_w <= 2) {
    const int runs = runs_of(d.out.width);
    const DepthwiseRuns r{d, runs, Divider(static_cast<std::uint32_t>(runs))};
    return launch(d.stride_w == 1 ? depthwise_run_weights_kernel<1, half_x, half_g>
                                  : depthwise_run_weights_kernel<2, half_x, half_g>,
                  dim3(static_cast<unsigned>(d.splits), groups), threads, 0, stream, r);
  }
  return launch(depthwise_weights_kernel<half_x, half_g>,
                dim3(static_cast<unsigned>(tap_groups(d) * d.splits), groups), threads, 0, stream,
                d);
}
cudaError_t launch_depthwise_weights(const DepthwisePass& d, cudaStream_t stream) {
  const bool half_g = d.gradient_terms.terms > 0;
  if (d.input_terms.terms > 0)
    return half_g ? launch_weights<true, true>(d, stream) : launch_weights<true, false>(d, stream);
  return half_g ? launch_weights<false, true>(d, stream) : launch_weights<false, false>(d, stream);
}
cudaError_t launch_depthwise_data(const DepthwisePass& d, cudaStream_t stream) {
  DepthwiseLines lines{d.out, d.in, d.kernel_h, d.kernel_w, 1, 1};
  lines.pad_top = d.kernel_h - 1 - d.pad_top, lines.pad_left = d.kernel_w - 1 - d.pad_left;
  lines.turned = true, lines.from = d.gradient, lines.weights = d.weights;
  lines.to = d.input_gradient;
  lines.from_terms = d.gradient_terms, lines.to_terms = d.input_gradient_terms;
  if (d.stride_h == 1 && d.stride_w == 1) return launch_lines(lines, d.count, stream);
  if (runs_small(d.in, d.kernel_h, d.kernel_w, d.count))
    return launch_small(lines, d.count, d.stride_h, d.stride_w, stream);
  const Lanes in = lanes_of(d.in.pitch);
  constexpr std::int64_t most_blocks = 1 << 14;
  const std::int64_t positions = std::int64_t{d.count} * d.in.height * d.in.width;
  const auto blocks =
      static_cast<unsigned>(std::min((positions + in.rows - 1) / in.rows, most_blocks));
  const DepthwiseData data{d, Divider(static_cast<std::uint32_t>(d.stride_h)),
                           Divider(static_cast<std::uint32_t>(d.stride_w))};
  return launch(
      d.gradient_terms.terms > 0 ? depthwise_data_kernel<true> : depthwise_data_kernel<false>,
      dim3(blocks, static_cast<unsigned>(in.groups)), threads, 0, stream, data);
}

}  // namespace sweetspot::engine::cuda
