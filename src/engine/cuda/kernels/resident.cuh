#pragma once
#include "engine/cuda/kernels/first_conv.cuh"
#include "engine/cuda/kernels/gemm.cuh"

// Convolutions whose samples and weights fit into shared memory together. Each sample is loaded and
// rounded once, not once for every tap, and a block keeps the weights (or, for their gradients, the
// sums) over all of its samples. A block takes `split_depth` samples at a time, and every
// `splits`-th such group.
namespace sweetspot::engine::cuda {

// Small batches: several blocks share a sample, each with some of the row groups and columns.
struct ResidentShare {
  int split, first_group, groups, first_column, columns;
  __device__ ResidentShare(const GemmPart& p, int block, int all_groups, int all_columns) {
    const int parts = p.tiles_m * p.tiles_n;
    split = block, first_group = first_column = 0;
    groups = all_groups, columns = all_columns;
    if (parts == 1) return;
    const int part = block % parts;
    split = block / parts;
    const int at_once = (all_groups + p.tiles_m - 1) / p.tiles_m;
    first_group = part / p.tiles_n * at_once;
    groups = max(0, min(at_once, all_groups - first_group));
    columns = all_columns / p.tiles_n, first_column = part % p.tiles_n * columns;
  }
};

// `rows` × `columns` floats into shared memory, rows `pitch` apart.
template <class M>
__device__ void load_rows(const float* from, int floats, Divider by_columns, int pitch,
                          typename M::Element* to) {
#pragma unroll 8
  for (int i = 4 * threadIdx.x; i < floats; i += 4 * resident_threads) {
    const int row = by_columns.quotient(i);
    M::store(to + row * pitch + i - row * by_columns.divisor, load4(from + i));
  }
}

// The gradient behind pooling and ReLU, which may come in slices of its sum.
__device__ inline float4 gradient4(const GemmPart& p, std::int64_t at) {
  float4 g = load4(p.gradient + at);
  if (p.gradient_slices > 1) {
#pragma unroll 4
    for (int slice = 1; slice < p.gradient_slices; ++slice) {
      const float4 more = load4(p.gradient + slice * p.gradient_stride + at);
      g.x += more.x, g.y += more.y, g.z += more.z, g.w += more.w;
    }
  }
  return g;
}

// The gradient before pooling of some samples, (positions, filters) each, `apart` elements apart;
// adds its columns' sums to `total`.
template <class M>
__device__ void load_routed(const GemmPart& p, int first, int samples, int pitch, int apart,
                            typename M::Element* to, float4& total) {
  const ConvShape& s = p.shape;
  const int windows = p.by_windows.divisor, floats = samples * windows * s.filters;
  const std::int64_t from = static_cast<std::int64_t>(first) * windows * s.filters;
#pragma unroll 2
  for (int i = 4 * threadIdx.x; i < floats; i += 4 * resident_threads) {
    const int row = p.by_filters.quotient(i), f = i - row * s.filters;
    const int sample = p.by_windows.quotient(row), window = row - sample * windows;
    uchar4 code = {0, 0, 0, 0};
    if (p.code) code = *reinterpret_cast<const uchar4*>(p.code + from + i);
    const float4 g = gradient4(p, from + i);
    const int py = p.by_window_w.quotient(window), px = window - py * p.by_window_w.divisor;
#pragma unroll
    for (int slot = 0; slot < 4; ++slot) {
      if (slot > 0 && s.pool != 2) break;
      const float4 v = {code.x == slot ? g.x : 0.f, code.y == slot ? g.y : 0.f,
                        code.z == slot ? g.z : 0.f, code.w == slot ? g.w : 0.f};
      total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
      const int position = s.pool == 2 ? (2 * py + slot / 2) * s.out_w + 2 * px + slot % 2 : window;
      M::store(to + sample * apart + position * pitch + f, v);
    }
  }
}

// Runs `work(sample of the group, row group, column block, first tap, last tap, sums)` for each
// tile of 32×32 outputs of `samples` samples, one warp a tile; where there are fewer tiles than
// warps, the taps are divided among several, whose sums are added in order. Then `finish(…, g,
// column, v)`.
template <class Work, class Finish>
__device__ void each_tile(int samples, int most_samples, int groups, int columns, int taps,
                          float2* scratch, Work work, Finish finish) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int share = resident_sharing(most_samples * groups * columns, taps);
  const int bits = 31 - __clz(share), slice = warp & (share - 1);
  const int items = samples * groups * columns, taps_each = taps >> bits;
  for (int base = 0; base < items; base += resident_warps >> bits) {
    const int item = base + (warp >> bits);
    // Divisions only where they are needed: they take longer than the rest of this.
    const int rest = columns == 1 ? item : columns == 2 ? item / 2 : item / columns;
    const int column = item - rest * columns;
    const int sample = samples == 1 ? 0 : rest / groups, group = rest - sample * groups;
    Sums sums{};
    if (item < items) work(sample, group, column, slice * taps_each, (slice + 1) * taps_each, sums);
    if (share > 1) {
#pragma unroll
      for (int pair = 0; pair < 16; ++pair)
        scratch[(warp * 16 + pair) * 32 + lane] = {sums[pair % 4 / 2][pair / 4][pair % 2 * 2],
                                                   sums[pair % 4 / 2][pair / 4][pair % 2 * 2 + 1]};
      __syncthreads();
    }
    // With shared tiles each of the sharers finishes some of the columns.
    for (int j = slice; item < items && j < 4; j += share) {
      Finished v;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (share == 1) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            if (k == j)
              v[i][0] = sums[i / 2][k][i % 2 * 2], v[i][1] = sums[i / 2][k][i % 2 * 2 + 1];
        } else {
          float2 sum{};
          for (int other = 0; other < share; ++other) {
            const float2 part = scratch[((warp - slice + other) * 16 + j * 4 + i) * 32 + lane];
            sum.x += part.x, sum.y += part.y;
          }
          v[i][0] = sum.x, v[i][1] = sum.y;
        }
      }
      finish(sample, group, g, column * 32 + 8 * j + 2 * t, v);
    }
    if (share > 1) __syncthreads();
  }
}

// Which elements survive dropout, drawn once for all: four of them share a number, and the first
// samples' are drawn before there is anything to drop. One byte each, (samples, windows, filters).
struct TabledDropout {
  std::uint8_t* table;
  int first;  // sample

  __device__ static bool suits(const GemmPart& p) {
    return p.dropout.threshold && p.dropout.channels == 64 && p.shape.filters == 64;
  }
  __device__ void draw(const GemmPart& p, int samples) const {
    const int windows = p.by_windows.divisor;
    for (int i = threadIdx.x; i < samples * windows * 16; i += resident_threads) {
      const int sample = p.by_windows.quotient(i / 16), window = i / 16 - sample * windows;
      const int y = p.by_window_w.quotient(window), x = window - y * p.by_window_w.divisor;
      const uint4 words =
          dropout_words(p.dropout, first + sample, (y * p.dropout.full_width + x) * 64 + i % 16);
      std::uint8_t* to = table + i / 16 * 64 + i % 16;
      to[0] = words.x >= p.dropout.threshold, to[16] = words.y >= p.dropout.threshold;
      to[32] = words.z >= p.dropout.threshold, to[48] = words.w >= p.dropout.threshold;
    }
  }
  __device__ bool operator()(const GemmPart& p, int sample, int position, int n) const {
    return suits(p) ? table[((sample - first) * p.by_windows.divisor + position) * 64 + n]
                    : DrawnDropout()(p, sample, position, n);
  }
};

constexpr int depth_step = 16;  // channels and filters come in sixteens here

// Where the input comes from: memory…
struct FromMemory {
  static constexpr bool follows_update = false;
  __device__ void prepare(int, float*, bool) const {}
  template <class M>
  __device__ void load(const GemmPart& p, int first, int samples, int pitch,
                       typename M::Element* images) const {
    const int floats = p.shape.in_h * p.shape.in_w * p.shape.channels;
    load_rows<M>(p.input + static_cast<std::int64_t>(first) * floats, samples * floats,
                 p.by_channels, pitch, images);
  }
};

// … or a first convolution, one sample a block, whose output is kept for the backward pass only.
template <int KH, int KW>
struct FromFirstConv {
  static constexpr bool follows_update = true;
  const FirstConv& p;
  float* image = nullptr;

  __device__ void prepare(int sample, float* room, bool waited) {
    image = room;
    if (waited != p.source.settled)
      load_strip<1, true>(p, p.source.row(sample), 0, p.shape.in_h, image);
  }
  template <class M>
  __device__ void load(const GemmPart& part, int sample, int, int pitch,
                       typename M::Element* images) const {
    const int windows = part.by_in.divisor;
    for (int f0 = 0; f0 < p.shape.filters; f0 += 32) {
      const TensorTaps<KH, KW, 1> taps(p, f0);
      for (int group = threadIdx.x / 32; group * 8 < windows; group += resident_warps)
        taps.run(p, image, group, windows, [&](int window, int f, float2 value, uchar2 code) {
          const std::int64_t at =
              (static_cast<std::int64_t>(sample) * windows + window) * p.shape.filters + f;
          *reinterpret_cast<float2*>(p.value + at) = value;
          *reinterpret_cast<uchar2*>(p.code + at) = code;
          M::store(images + window * pitch + f, value);
        });
    }
  }
};

template <class M, class From>
__device__ void resident_forward(const GemmPart& p, int block, typename M::Element* shared,
                                 From from) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, depth = taps * s.channels;
  const int windows = p.by_windows.divisor;
  const ResidentShare share(p, block, s.pool == 2 ? (windows + 7) / 8 : (windows + 31) / 32,
                            s.filters / 32);
  const int weight_pitch = 32 * share.columns + Operand<Element, false>::pad;
  const int pitch = s.channels + Operand<Element, true>::pad, image = s.in_h * s.in_w * pitch;
  Element* images = shared + depth * weight_pitch;
  TabledDropout dropout{reinterpret_cast<std::uint8_t*>(images + p.split_depth * image), 0};
  auto* scratch = reinterpret_cast<float2*>(dropout.table + p.split_depth * windows * s.filters);
  const bool tabled = TabledDropout::suits(p);
  from.prepare(share.split, reinterpret_cast<float*>(scratch), false);
  if (From::follows_update) wait_for_predecessor();
  from.prepare(share.split, reinterpret_cast<float*>(scratch), true);
  const int bits = share.columns == 1 ? 3 : 4, fours = 1 << bits;  // of this block's part of a row
#pragma unroll 8
  for (int i = threadIdx.x; i < depth * fours; i += resident_threads) {
    const int row = i >> bits, column = 4 * (i & (fours - 1));
    M::store(shared + row * weight_pitch + column,
             load4(p.weights + row * s.filters + 32 * share.first_column + column));
  }
  dropout.first = share.split * p.split_depth;
  if (tabled) dropout.draw(p, min(p.split_depth, p.count - dropout.first));
  if (!From::follows_update) wait_for_predecessor();
  for (int first = share.split * p.split_depth; first < p.count;
       first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    if (tabled && dropout.first != first) dropout.first = first, dropout.draw(p, samples);
    from.template load<M>(p, first, samples, pitch, images);
    __syncthreads();
    each_tile(
        samples, p.split_depth, share.groups, share.columns, taps, scratch,
        [&](int sample, int group, int column, int tap, int end, Sums& sums) {
          group += share.first_group;
          int offset[M::rows];
#pragma unroll
          for (int i = 0; i < M::rows; ++i) {
            const int row = M::row(i);
            int y, x;
            if (s.pool == 2) {
              const int window = min(group * 8 + row % 8, windows - 1), slot = row / 8;
              const int py = p.by_window_w.quotient(window);
              y = 2 * py + slot / 2, x = 2 * (window - py * p.by_window_w.divisor) + slot % 2;
            } else {
              const int at = min(group * 32 + row, windows - 1);
              y = p.by_window_w.quotient(at), x = at - y * p.by_window_w.divisor;
            }
            offset[i] = sample * image + (y * s.stride_h * s.in_w + x * s.stride_w) * pitch;
          }
          for (; tap < end; ++tap) {
            const int ky = p.by_kernel_w.quotient(tap), kx = tap - ky * s.kernel_w;
            const Element* shifted = images + (ky * s.in_w + kx) * pitch;
            for (int c = 0; c < s.channels; c += depth_step)
              M::template multiply_rows<depth_step, false>(
                  shifted + c, offset, Operand<Element, false>{shared + column * 32, weight_pitch},
                  tap * s.channels + c, sums);
          }
        },
        [&](int sample, int group, int g, int n, Finished& v) {
          group += share.first_group, n += 32 * share.first_column;
          if (s.pool == 2) {
            if (group * 8 + g < windows)
              finish_pooled(p, first + sample, group * 8 + g, n, v, dropout);
            return;
          }
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = group * 32 + g + 8 * i;
            if (at < windows) finish_plain(p, first + sample, at, n, v[i], dropout);
          }
        });
  }
}

// Where the gradient of the input goes: into memory…
struct IntoMemory {
  __device__ static int bytes(const GemmPart&) { return 0; }
  __device__ void prepare(int, float*, float2*) {}
  __device__ void store(const GemmPart& p, int sample, int at, int n, float a, float b) const {
    const std::int64_t position = static_cast<std::int64_t>(sample) * p.by_in.divisor + at;
    store2(p.input_gradient + position * p.shape.channels + n, a, b);
  }
  __device__ void finish(int) {}
};

// … or on to the first convolution's weights, one sample a block. The gradient takes the room of
// the operand it was computed from, and what the layer itself needs is loaded before the wait.
template <int KH, int KW>
struct IntoFirstConv {
  const FirstConv& p;
  float *gradient = nullptr, *reduction = nullptr, *image = nullptr;
  std::uint8_t* codes = nullptr;

  __device__ static int bytes(const GemmPart& part) {
    return static_cast<int>(part.by_in.divisor) * part.shape.channels * 4;
  }
  __device__ int windows() const { return p.shape.out_h / 2 * (p.shape.out_w / 2); }
  __device__ void prepare(int sample, float* operand, float2* scratch) {
    gradient = operand, reduction = reinterpret_cast<float*>(scratch);
    image = reduction + resident_warps * 1024;
    codes = reinterpret_cast<std::uint8_t*>(image + (p.shape.in_h * p.shape.in_w + 3) / 4 * 4);
    if (sample >= p.count) return;
    load_strip<1>(p, p.source.row(sample), 0, p.shape.in_h, image);
    const int floats = windows() * p.shape.filters;
    const std::uint8_t* from = p.code + static_cast<std::int64_t>(sample) * floats;
    for (int i = 4 * threadIdx.x; i < floats; i += 4 * resident_threads)
      *reinterpret_cast<uchar4*>(codes + i) = *reinterpret_cast<const uchar4*>(from + i);
  }
  __device__ void store(const GemmPart& part, int, int at, int n, float a, float b) const {
    store2(gradient + at * part.shape.channels + n, a, b);
  }
  __device__ void finish(int sample) {
    const int filters = p.shape.filters, bits = filter_bits(p), f = threadIdx.x & (filters - 1);
    FilterSums<KH, KW, 1> sums;
    if (sample < p.count)
      sums.add(
          p, image, threadIdx.x >> bits, resident_threads >> bits, windows(),
          [&](int window) { return gradient[(window << bits) + f]; },
          [&](int window) { return codes[(window << bits) + f]; });
    sums.template write<resident_threads>(p, sample, reduction);
  }
};

template <class M, class Into>
__device__ void resident_data(const GemmPart& p, int block, typename M::Element* shared,
                              Into into) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, positions = p.by_out.divisor;
  const int pitch = s.filters + Operand<Element, true>::pad, image = positions * pitch;
  Element* images = shared + taps * s.channels * pitch;
  Element* zeros = images + p.split_depth * image;  // where taps outside of the image read
  const int operand = (p.split_depth * image + pitch) * static_cast<int>(sizeof(Element));
  auto* scratch = reinterpret_cast<float2*>(reinterpret_cast<unsigned char*>(images) +
                                            (max(operand, Into::bytes(p)) + 15) / 16 * 16);
  load_rows<M>(p.weights, taps * s.channels * s.filters, p.by_filters, pitch, shared);
  for (int i = threadIdx.x; i < pitch; i += resident_threads) zeros[i] = Element(0.f);
  const int inputs = p.by_in.divisor;
  const ResidentShare share(p, block, (inputs + 31) / 32, s.channels / 32);
  into.prepare(share.split, reinterpret_cast<float*>(images), scratch);
  wait_for_predecessor();
  for (int first = share.split * p.split_depth; first < p.count;
       first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    float4 unused{};
    load_routed<M>(p, first, samples, pitch, image, images, unused);
    __syncthreads();
    each_tile(
        samples, p.split_depth, share.groups, share.columns, taps, scratch,
        [&](int sample, int group, int column, int tap, int end, Sums& sums) {
          group += share.first_group, column += share.first_column;
          int line[M::rows], across[M::rows];
#pragma unroll
          for (int i = 0; i < M::rows; ++i) {
            const int at = group * 32 + M::row(i);
            line[i] = at < inputs ? p.by_in_w.quotient(at) : outside;
            across[i] = at - line[i] * s.in_w;
          }
          for (; tap < end; ++tap) {
            const int ky = p.by_kernel_w.quotient(tap), kx = tap - ky * s.kernel_w;
            int offset[M::rows];
            bool any = false;
#pragma unroll
            for (int i = 0; i < M::rows; ++i) {
              const int y = line[i] - ky, x = across[i] - kx;
              const bool inside =
                  static_cast<unsigned>(y) < s.out_h && static_cast<unsigned>(x) < s.out_w;
              offset[i] =
                  inside ? sample * image + (y * s.out_w + x) * pitch : p.split_depth * image;
              any |= inside;
            }
            if (!__any_sync(0xffffffffu, any)) continue;
            const Element* kernel = shared + (tap * s.channels + column * 32) * pitch;
            for (int f = 0; f < s.filters; f += depth_step)
              M::template multiply_rows<depth_step, true>(
                  images + f, offset, Operand<Element, true>{kernel, pitch}, f, sums);
          }
        },
        [&](int sample, int group, int g, int n, Finished& v) {
          group += share.first_group, n += 32 * share.first_column;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = group * 32 + g + 8 * i;
            if (at < inputs)
              into.store(p, first + sample, at, n, v[i][0] * p.scale, v[i][1] * p.scale);
          }
        });
  }
  into.finish(share.split);
}

// A warp has one tap and 32 channels, all filters (up to 64), and keeps their sums over all
// samples.
template <class M>
__device__ void resident_weights(const GemmPart& p, int block, typename M::Element* shared) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int split = p.by_tiles_m.quotient(block);
  const int item = (block - split * p.tiles_m) * resident_warps + threadIdx.x / 32;
  const int taps = s.kernel_h * s.kernel_w, positions = p.by_out.divisor;
  const int depth = (positions + depth_step - 1) / depth_step * depth_step;
  const int pitch = s.channels + Operand<Element, false>::pad, image = s.in_h * s.in_w * pitch;
  const int gradient_pitch = s.filters + Operand<Element, false>::pad;
  const int gradient = depth * gradient_pitch, floats = s.in_h * s.in_w * s.channels;
  int* table = reinterpret_cast<int*>(shared);  // where each position's patch begins
  Element* images = shared + depth * (sizeof(int) / sizeof(Element));
  Element* gradients = images + p.split_depth * image;
  for (int k = threadIdx.x; k < depth; k += resident_threads) {
    const int y = p.by_out_w.quotient(k), x = k - y * s.out_w;
    table[k] = k < positions ? (y * s.stride_h * s.in_w + x * s.stride_w) * pitch : 0;
  }
  for (int i = threadIdx.x; i < p.split_depth * gradient; i += resident_threads)
    gradients[i] = Element(0.f);  // the padding of the depth stays so
  const auto load_images = [&](int first) {
    load_rows<M>(p.input + static_cast<std::int64_t>(first) * floats,
                 min(p.split_depth, p.count - first) * floats, p.by_channels, pitch, images);
  };
  // The input is older than the predecessor; only the gradient is its work.
  const int begin = split * p.split_depth;
  load_images(begin);
  wait_for_predecessor();
  const int blocks_c = s.channels / 32, tap = blocks_c == 1 ? item : item / blocks_c;
  const int c = (item - tap * blocks_c) * 32;
  const int ky = p.by_kernel_w.quotient(tap), kx = tap - ky * s.kernel_w;
  const bool real = tap < taps;
  Sums sums[2] = {};
  float4 total{};
  for (int first = begin; first < p.count; first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    if (first != begin) load_images(first);
    load_routed<M>(p, first, samples, gradient_pitch, gradient, gradients, total);
    __syncthreads();
    for (int i = 0; real && i < samples; ++i)
      for (int k = 0; k < depth; k += depth_step)
        M::template multiply_columns<depth_step>(
            images + i * image + (ky * s.in_w + kx) * pitch + c, table,
            Operand<Element, false>{gradients + i * gradient, gradient_pitch}, k, sums);
  }
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    Finished v;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e) v[i][e] = sums[j / 4][i / 2][j % 4][i % 2 * 2 + e];
    if (real) finish_weights(p, split, item * 32, g, 8 * j + 2 * t, v);
  }
  if (!p.bias || block != split * p.tiles_m) return;
  // A thread's four filters were the same all along.
  auto* columns = reinterpret_cast<float*>(shared);
  __syncthreads();
  const int per_row = s.filters / 4;
  *reinterpret_cast<float4*>(columns + threadIdx.x / per_row * s.filters +
                             threadIdx.x % per_row * 4) = total;
  __syncthreads();
  if (threadIdx.x >= s.filters) return;
  float sum = 0;
  for (int i = 0; i < resident_threads / per_row; ++i) sum += columns[i * s.filters + threadIdx.x];
  p.partials[split * p.partial_stride + static_cast<std::int64_t>(taps) * s.channels * s.filters +
             threadIdx.x] = sum;
}

template <class M>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_forward_kernel(const __grid_constant__ GemmPart part) {
  extern __shared__ __align__(16) unsigned char raw[];
  resident_forward<M>(part, blockIdx.x, reinterpret_cast<typename M::Element*>(raw), FromMemory());
}

template <class M, int KH, int KW>
__global__ void __launch_bounds__(resident_threads, 1)
    merged_forward_kernel(const __grid_constant__ MergedForward parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  resident_forward<M>(parts.part, blockIdx.x, reinterpret_cast<typename M::Element*>(raw),
                      FromFirstConv<KH, KW>{parts.first});
}

template <class M>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_backward_kernel(const __grid_constant__ GemmParts parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<typename M::Element*>(raw);
  if (blockIdx.x < parts.data_blocks)
    resident_data<M>(parts.data, blockIdx.x, shared, IntoMemory());
  else
    resident_weights<M>(parts.weights[0], blockIdx.x - parts.data_blocks, shared);
}

template <class M, int KH, int KW>
__global__ void __launch_bounds__(resident_threads, 1)
    merged_backward_kernel(const __grid_constant__ MergedBackward parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<typename M::Element*>(raw);
  if (blockIdx.x < parts.data_blocks)
    resident_data<M>(parts.data, blockIdx.x, shared, IntoFirstConv<KH, KW>{parts.first});
  else
    resident_weights<M>(parts.weights, blockIdx.x - parts.data_blocks, shared);
}

template <class M>
int resident_bytes_of(const GemmPart& p) {
  return static_cast<int>(resident_shared_bytes(p.kind, p.shape, p.split_depth,
                                                static_cast<int>(sizeof(typename M::Element)),
                                                p.tiles_m * p.tiles_n));
}

template <class M>
cudaError_t launch_resident_forward_with(const GemmPart& p, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(resident_forward_kernel<M>, most_shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(resident_forward_kernel<M>, p.tiles_m * p.tiles_n * p.splits, resident_threads,
                resident_bytes_of<M>(p), stream, p);
}

template <class M>
cudaError_t launch_resident_backward_with(const GemmParts& parts, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(resident_backward_kernel<M>, most_shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  const int data = parts.data_blocks ? resident_bytes_of<M>(parts.data) : 0;
  const int weights = parts.weight_blocks[0] ? resident_bytes_of<M>(parts.weights[0]) : 0;
  return launch(resident_backward_kernel<M>, parts.data_blocks + parts.weight_blocks[0],
                resident_threads, data > weights ? data : weights, stream, parts);
}

template <class M, int KH, int KW>
cudaError_t launch_merged_forward_as(const MergedForward& parts, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(merged_forward_kernel<M, KH, KW>, most_shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(merged_forward_kernel<M, KH, KW>, parts.part.count, resident_threads,
                resident_bytes_of<M>(parts.part), stream, parts);
}

template <class M>
cudaError_t launch_merged_forward_with(const MergedForward& parts, cudaStream_t stream) {
  return parts.first.shape.kernel_h == 4 ? launch_merged_forward_as<M, 4, 4>(parts, stream)
                                         : launch_merged_forward_as<M, 3, 3>(parts, stream);
}

template <class M, int KH, int KW>
cudaError_t launch_merged_backward_as(const MergedBackward& parts, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(merged_backward_kernel<M, KH, KW>, most_shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  const int data = static_cast<int>(
      merged_shared_bytes(parts.first.shape, parts.data.shape, sizeof(typename M::Element)));
  const int weights = resident_bytes_of<M>(parts.weights);
  return launch(merged_backward_kernel<M, KH, KW>, parts.data_blocks + parts.weight_blocks,
                resident_threads, data > weights ? data : weights, stream, parts);
}

template <class M>
cudaError_t launch_merged_backward_with(const MergedBackward& parts, cudaStream_t stream) {
  return parts.first.shape.kernel_h == 4 ? launch_merged_backward_as<M, 4, 4>(parts, stream)
                                         : launch_merged_backward_as<M, 3, 3>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
