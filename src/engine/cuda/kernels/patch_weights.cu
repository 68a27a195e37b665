#include <algorithm>

#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/few_filters.h"
#include "engine/cuda/kernels/patches.cuh"

// Tiles of a product would consist of padding. The tensor cores multiply pixels of few channels (a
// row is a tap and a channel) by gradients over the positions. The pixels of a patch are in shared
// memory (patches.h); gradients go from memory to the operands' registers, where a thread that
// reads four filters has a column of four tiles. A warp has some rows and filters; those of a block
// that have the same divide a patch's positions. fp32 is two terms of tf32 (22 bits) and three
// products.
//
// With few filters instead, the output's gradients are the pixels: the sum over positions p of
// x[p + tap] g[p] is that over q of g[q - tap] x[q].
namespace sweetspot::engine::cuda {
namespace {

constexpr int most_threads = 256, most_warps = most_threads / 32;
constexpr int chunk = 8;                // positions of one step of the depth
constexpr int pixel_bytes = 40 * 1024;  // of a patch

// Tiles of eight filters that a warp has, and of sixteen rows: few filters leave room for rows.
int columns_for(int filters) { return filters <= 8 ? 1 : filters <= 16 ? 2 : 4; }
__host__ __device__ constexpr int row_tiles(int columns) { return columns == 1 ? 4 : 2; }

// As many adjacent filters as a thread reads, and their codes.
template <int count>
struct Filters;
template <>
struct Filters<1> {
  using Floats = float;
  using Codes = std::uint8_t;
};
template <>
struct Filters<2> {
  using Floats = float2;
  using Codes = uchar2;
};
template <>
struct Filters<4> {
  using Floats = float4;
  using Codes = uchar4;
};

__device__ bool finite(float4 v) { return isfinite(v.x + v.y + v.z + v.w); }

// The gradient of few filters' bias, from a split of all their positions.
__device__ void store_few_sums(const PatchWeights& p, int split, float4* shared, float* to) {
  const int pitch = p.shape.channels, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const std::int64_t all =
      std::int64_t{p.positions / p.by_out.divisor} * p.shape.in_h * p.shape.in_w;
  const std::int64_t begin = all * split / p.splits, end = all * (split + 1) / p.splits;
  for (int c = 0; c < pitch; c += 4) {
    float4 sum{};
    for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const std::int64_t at = i * pitch + c;
      float4 v = load4(p.input + at);
      if (p.code) v = let_through(v, *reinterpret_cast<const uchar4*>(p.code + at));
      sum = sum + v;
    }
    for (int distance = 16; distance > 0; distance /= 2) sum = sum + shuffled(sum, distance);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[warp] = sum;
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int w = 1; w < warps; ++w) sum = sum + shared[w];
    store4(to + c, sum);
  }
}

// A block's sums (row, filter), whose weights are at (tap, channel, filter). The last channel also
// clears the padding behind it.
template <int columns, int pitch>
__device__ void store_rows(const PatchWeights& p, const float* sums, int first_row, int rows,
                           int first_filter, float* to) {
  const ConvShape& s = p.shape;
#pragma unroll 1
  for (int i = threadIdx.x; i < rows * 2 * columns; i += blockDim.x) {
    const int row = i / (2 * columns), n = i % (2 * columns) * 4;
    if (first_filter + n >= s.filters) continue;
    const int tap = (first_row + row) / p.channels, c = first_row + row - tap * p.channels;
    const float4 sum = load4(sums + row * pitch + n);
    if (!finite(sum)) p.state->bad = 1;  // read only in fp16
    float* at = to + (std::int64_t{tap} * s.channels + c) * s.filters + first_filter + n;
    store4(at, sum);
    for (int other = p.channels; c + 1 == p.channels && other < s.channels; ++other)
      store4(at + (other - c) * s.filters, float4{});
  }
}
// The same for few filters, whose kernel is turned by half a turn: rows are taps and those filters.
template <int columns, int pitch>
__device__ void store_turned(const PatchWeights& p, const float* sums, int first_tap, int taps,
                             int first_channel, float* to) {
  const ConvShape& s = p.shape;
  const int last = s.kernel_h * s.kernel_w - 1;
#pragma unroll 1
  for (int i = threadIdx.x; i < taps * 8 * columns; i += blockDim.x) {
    const int tap = i / (8 * columns), n = i % (8 * columns);
    if (first_channel + n >= s.filters) continue;
    const float* from = sums + tap * p.channels * pitch + n;
    float* at =
        to + (std::int64_t{last - first_tap - tap} * s.filters + first_channel + n) * s.channels;
#pragma unroll 1
    for (int c = 0; c < s.channels; c += 4) {
      const auto of = [&](int e) { return c + e < p.channels ? from[(c + e) * pitch] : 0.f; };
      const float4 sum{of(0), of(1), of(2), of(3)};
      if (!finite(sum)) p.state->bad = 1;
      store4(at + c, sum);
    }
  }
}

template <int columns, bool fp32>
__global__ void __launch_bounds__(most_threads, 2)
    patch_weights_kernel(const __grid_constant__ PatchWeights p) {
  extern __shared__ __align__(16) float4 shared[];
  using Floats = typename Filters<columns>::Floats;
  using Codes = typename Filters<columns>::Codes;
  constexpr int tiles = row_tiles(columns);
  const ConvShape& s = p.shape;
  float* pixels = reinterpret_cast<float*>(shared);
  const int taps = s.kernel_h * s.kernel_w, rows = taps * p.channels;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int group = warp / p.parts, part = warp - group * p.parts;
  const int filter_tile = blockIdx.x / p.row_blocks;
  const int block_row = (blockIdx.x - filter_tile * p.row_blocks) * p.block_rows;
  const int first_row = block_row + part * 16 * tiles, first_filter = filter_tile * 8 * columns;
  const int split = blockIdx.y, filter = first_filter + columns * g;
  const bool real_filter = filter < s.filters;
  int place[2 * tiles];  // of this thread's rows, of which those that do not exist are not stored
#pragma unroll
  for (int i = 0; i < 2 * tiles; ++i) {
    const int row = first_row + 8 * i + g;
    place[i] = place_of(p.patches, s, p.channels, row < rows ? row : 0);
  }
  float sums[tiles][columns][4] = {};
  float bias[columns] = {};
  wait_for_predecessor();
  const int end = min((split + 1) * p.share, p.positions / p.by_out.divisor * p.patches.each);
  for (int i = split * p.share; i < end; ++i) {
    const Patch patch = patch_of(p.patches, s, i);
    const std::int64_t first =
        ((std::int64_t{patch.sample} * s.out_h + patch.y) * s.out_w + patch.x) * s.filters;
    const int step = p.groups * chunk;
    // The gradients of a step are loaded during the step before.
    Floats loaded[2];
    Codes codes[2];
    const auto load = [&](int begin) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = begin + 4 * half + t;
        const bool real = real_filter && i < patch.count;
        const std::int64_t from = first + std::int64_t{i} * s.filters + filter;
        loaded[half] = real ? *reinterpret_cast<const Floats*>(p.gradient + from) : Floats{};
        if (p.code && !p.swapped)
          codes[half] = real ? *reinterpret_cast<const Codes*>(p.code + from) : Codes{};
      }
    };
    load(group * chunk);
    __syncthreads();
    load_patch<!fp32>(p.patches, s, p.channels, patch, p.input, p.swapped ? p.code : nullptr,
                      pixels);
    __syncthreads();
    for (int begin = group * chunk; begin < patch.count; begin += step) {
      float right[columns][2], right_rest[columns][2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto* values = reinterpret_cast<const float*>(&loaded[half]);
        const auto* blocked = reinterpret_cast<const std::uint8_t*>(&codes[half]);
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          const float v = p.code && !p.swapped && blocked[j] ? 0.f : values[j];
          bias[j] += v;
          if constexpr (fp32)
            split_terms(v, right[j][half], right_rest[j][half]);
          else
            right[j][half] = Tf32::round(v);
        }
      }
      load(begin + step);
      int corner[2];
#pragma unroll
      for (int half = 0; half < 2; ++half)
        corner[half] =
            corner_of(p.patches, s, p.channels, min(begin + 4 * half + t, patch.count - 1));
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        float left[4], rest[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) {  // r % 2: of the rows, r / 2: of the positions
          const float x = pixels[corner[r / 2] + place[2 * tile + r % 2]];
          if constexpr (fp32)
            split_terms(x, left[r], rest[r]);
          else
            left[r] = x;
        }
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          if constexpr (fp32) {
            Tf32::step(rest, right[j], sums[tile][j]);
            Tf32::step(left, right_rest[j], sums[tile][j]);
          }
          Tf32::step(left, right[j], sums[tile][j]);
        }
      }
    }
  }
  __syncthreads();
  // Pairs of groups, in a fixed order.
  constexpr int slots = tiles * columns + 1;
  for (int left = p.groups; left > 1;) {
    const int half = (left + 1) / 2, apart = (left - half) * p.parts * 32;
    float4* to = shared + ((group - half) * p.parts + part) * 32 + lane;
    const float4* from = shared + (group * p.parts + part) * 32 + lane;
    if (group >= half && group < left) {
#pragma unroll
      for (int i = 0; i < slots - 1; ++i) {
        const auto& four = sums[i / columns][i % columns];
        to[i * apart] = {four[0], four[1], four[2], four[3]};
      }
#pragma unroll
      for (int j = 0; j < columns; ++j)
        reinterpret_cast<float*>(to + (slots - 1) * apart)[j] = bias[j];
    }
    __syncthreads();
    if (group + half < left) {
#pragma unroll
      for (int i = 0; i < slots - 1; ++i) {
        auto& four = sums[i / columns][i % columns];
        const float4 other = from[i * apart];
        four[0] += other.x, four[1] += other.y, four[2] += other.z, four[3] += other.w;
      }
#pragma unroll
      for (int j = 0; j < columns; ++j)
        bias[j] += reinterpret_cast<const float*>(from + (slots - 1) * apart)[j];
    }
    __syncthreads();
    left = half;
  }
  float* to = p.partials + split * p.partial_stride;
  float* bias_to = to + std::int64_t{taps} * s.channels * s.filters;
  if (p.swapped && p.bias && blockIdx.x == 0) store_few_sums(p, split, shared, bias_to);
  if (p.bias && !p.swapped && group == 0 && first_row == 0)
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      bias[j] += shuffled(bias[j], 1);
      bias[j] += shuffled(bias[j], 2);
      if (t == 0 && real_filter) bias_to[filter + j] = bias[j];
    }
  // Through shared memory, so that lines are stored whole, by little code: it runs once, from a
  // cold instruction cache.
  constexpr int pitch = 8 * columns + 4;
  __syncthreads();
  if (group == 0)
#pragma unroll
    for (int i = 0; i < 2 * tiles; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int j = 0; j < columns; ++j)
          pixels[(part * 16 * tiles + 8 * i + g) * pitch + columns * (2 * t + e) + j] =
              sums[i / 2][j][i % 2 * 2 + e];
  __syncthreads();
  const int rows_here = min(p.block_rows, rows - block_row);
  if (p.swapped)
    store_turned<columns, pitch>(p, pixels, block_row / p.channels, rows_here / p.channels,
                                 first_filter, to);
  else
    store_rows<columns, pitch>(p, pixels, block_row, rows_here, first_filter, to);
}

template <bool fp32>
auto kernel_of(int columns) {
  return columns == 1   ? patch_weights_kernel<1, fp32>
         : columns == 2 ? patch_weights_kernel<2, fp32>
                        : patch_weights_kernel<4, fp32>;
}

// Fills in how blocks and warps divide the work; splits stay 0 if no patch fits.
void divide(PatchWeights& p, int count, int multiprocessors) {
  constexpr int blocks_each = 2, chunks_each = 4;
  const int columns = columns_for(p.shape.filters);
  const int tile_rows = 16 * row_tiles(columns), tile_filters = 8 * columns;
  p.positions = count * p.shape.positions();
  p.by_out = Divider(static_cast<std::uint32_t>(p.shape.positions()));
  // Blocks divide the rows by whole taps.
  do {
    ++p.row_blocks;
    p.block_rows = (p.shape.taps() + p.row_blocks - 1) / p.row_blocks * p.channels;
    p.parts = (p.block_rows + tile_rows - 1) / tile_rows;
  } while (p.parts > most_warps);
  p.groups = most_warps / p.parts;
  p.tiles = (p.shape.filters + tile_filters - 1) / tile_filters * p.row_blocks;
  const int splits = std::clamp(blocks_each * multiprocessors / p.tiles, 1,
                                std::max(1, p.positions / (p.groups * chunks_each * chunk)));
  if (!divide_patches(p.patches, p.shape, p.channels, count, splits, pixel_bytes)) return;
  const int all = count * p.patches.each;
  p.share = (all + splits - 1) / splits, p.splits = (all + p.share - 1) / p.share;
}

}  // namespace

bool few_filters_weights_support(const ConvShape& s, int filters) {
  return filters <= most_few_filters && s.filters < filters + 4 && s.pool == 1 && s.stride_h == 1 &&
         s.stride_w == 1 && s.positions() > 1 &&
         few_filters_weights_part(s, filters, 1, 1, true).splits > 0;
}

PatchWeights few_filters_weights_part(const ConvShape& shape, int filters, int count,
                                      int multiprocessors, bool fp32) {
  PatchWeights p{};
  p.shape = swapped(shape), p.channels = filters, p.swapped = true, p.fp32 = fp32;
  divide(p, count, multiprocessors);
  return p;
}

bool narrow_weights_pay(const ConvShape& s, int channels, int count, int multiprocessors) {
  constexpr int few_filters = 16, many_rows = 48;
  constexpr std::int64_t many_positions = 256;  // per multiprocessor
  return s.pool == 1 && s.filters <= few_filters && s.channels < channels + 4 &&
         s.taps() * channels >= many_rows &&
         std::int64_t{count} * s.positions() >= many_positions * multiprocessors &&
         narrow_weights_part(s, channels, count, multiprocessors, true).splits > 0;
}

PatchWeights narrow_weights_part(const ConvShape& shape, int channels, int count,
                                 int multiprocessors, bool fp32) {
  PatchWeights p{};
  p.shape = shape, p.channels = channels, p.fp32 = fp32;
  divide(p, count, multiprocessors);
  return p;
}

void divide_among(PatchWeights& p, int splits) {
  const int all = p.positions / p.shape.positions() * p.patches.each;
  p.splits = splits, p.share = (all + splits - 1) / splits;
}

double patch_weights_clocks(const PatchWeights& p, int multiprocessors) {
  const double step = p.fp32 ? 28 : 20;  // of a warp, eight positions
  constexpr double start = 6000;
  return start + step * p.positions / chunk * p.parts * p.tiles / multiprocessors;
}

cudaError_t launch_patch_weights(const PatchWeights& p, cudaStream_t stream) {
  const int columns = columns_for(p.shape.filters);
  const auto kernel = p.fp32 ? kernel_of<true>(columns) : kernel_of<false>(columns);
  const int slots = row_tiles(columns) * columns + 1, warps = p.groups * p.parts;
  const int sums = slots * (p.groups / 2) * p.parts * 32 * static_cast<int>(sizeof(float4));
  const int few_sums = warps * static_cast<int>(sizeof(float4));
  const int stored =
      p.parts * 16 * row_tiles(columns) * (8 * columns + 4) * static_cast<int>(sizeof(float));
  return launch(kernel, dim3(p.tiles, p.splits), 32 * warps,
                std::max({sums, p.patches.bytes(p.channels), few_sums, stored}), stream, p);
}

}  // namespace sweetspot::engine::cuda
