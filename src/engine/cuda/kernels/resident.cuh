#pragma once
#include "engine/cuda/kernels/gemm.cuh"

// Convolutions whose samples and weights fit into shared memory together. Each sample is loaded and
// rounded once, not once for every tap, and a block keeps the weights (or, for their gradients, the
// sums) over all of its samples. A block takes `split_depth` samples at a time, and every
// `splits`-th such group.
namespace sweetspot::engine::cuda {

constexpr int resident_threads = 512, resident_warps = resident_threads / 32;

// Small batches: several blocks share a sample, each with some of the row groups and columns.
struct ResidentShare {
  int split, first_group, groups, first_column, columns;
  __device__ ResidentShare(const GemmPart& p, int block, int all_groups, int all_columns) {
    const int parts = p.tiles_m * p.tiles_n, part = block % parts;
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

// The gradient before pooling of one sample, (positions, filters); adds its columns' sums to
// `total`.
template <class M>
__device__ void load_routed(const GemmPart& p, int sample, int pitch, typename M::Element* to,
                            float4& total) {
  const ConvShape& s = p.shape;
  const int floats = p.by_windows.divisor * s.filters;
  const std::int64_t from = static_cast<std::int64_t>(sample) * floats;
#pragma unroll 2
  for (int i = 4 * threadIdx.x; i < floats; i += 4 * resident_threads) {
    const int window = p.by_filters.quotient(i), f = i - window * s.filters;
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
      M::store(to + position * pitch + f, v);
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
  int share = 1;
  while (2 * share * most_samples * groups * columns <= resident_warps && taps % (2 * share) == 0)
    share *= 2;
  const int slice = warp % share, items = samples * groups * columns;
  for (int base = 0; base < items; base += resident_warps / share) {
    const int item = base + warp / share;
    const int column = item % columns, group = item / columns % groups;
    const int sample = item / columns / groups;
    Sums sums{};
    if (item < items)
      work(sample, group, column, slice * taps / share, (slice + 1) * taps / share, sums);
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
            const float2 part =
                scratch[((warp / share * share + other) * 16 + j * 4 + i) * 32 + lane];
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

constexpr int depth_step = 16;  // channels and filters come in sixteens here

template <class M>
__device__ void resident_forward(const GemmPart& p, int block, typename M::Element* shared) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, depth = taps * s.channels;
  const int windows = p.by_windows.divisor;
  const ResidentShare share(p, block, s.pool == 2 ? (windows + 7) / 8 : (windows + 31) / 32,
                            s.filters / 32);
  const int weight_pitch = 32 * share.columns + Operand<Element, false>::pad;
  const int pitch = s.channels + Operand<Element, true>::pad;
  const int floats = s.in_h * s.in_w * s.channels, image = s.in_h * s.in_w * pitch;
  Element* images = shared + depth * weight_pitch;
  auto* scratch = reinterpret_cast<float2*>(images + p.split_depth * image);
  const int fours = 8 * share.columns;  // 8 or 16: of this block's part of a row
#pragma unroll 8
  for (int i = threadIdx.x; i < depth * fours; i += resident_threads) {
    const int row = i / fours, column = 4 * (i % fours);
    M::store(shared + row * weight_pitch + column,
             load4(p.weights + row * s.filters + 32 * share.first_column + column));
  }
  wait_for_predecessor();
  for (int first = share.split * p.split_depth; first < p.count;
       first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    load_rows<M>(p.input + static_cast<std::int64_t>(first) * floats, samples * floats,
                 p.by_channels, pitch, images);
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
            if (group * 8 + g < windows) finish_pooled(p, first + sample, group * 8 + g, n, v);
            return;
          }
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = group * 32 + g + 8 * i;
            if (at < windows) finish_plain(p, first + sample, at, n, v[i]);
          }
        });
  }
}

template <class M>
__device__ void resident_data(const GemmPart& p, int block, typename M::Element* shared) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, positions = p.by_out.divisor;
  const int pitch = s.filters + Operand<Element, true>::pad, image = positions * pitch;
  Element* images = shared + taps * s.channels * pitch;
  Element* zeros = images + p.split_depth * image;  // where taps outside of the image read
  auto* scratch = reinterpret_cast<float2*>(zeros + pitch);
  load_rows<M>(p.weights, taps * s.channels * s.filters, p.by_filters, pitch, shared);
  for (int i = threadIdx.x; i < pitch; i += resident_threads) zeros[i] = Element(0.f);
  wait_for_predecessor();
  const int inputs = p.by_in.divisor;
  const ResidentShare share(p, block, (inputs + 31) / 32, s.channels / 32);
  for (int first = share.split * p.split_depth; first < p.count;
       first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    float4 unused{};
    for (int i = 0; i < samples; ++i)
      load_routed<M>(p, first + i, pitch, images + i * image, unused);
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
              store2(p.input_gradient +
                         (static_cast<std::int64_t>(first + sample) * inputs + at) * s.channels + n,
                     v[i][0] * p.scale, v[i][1] * p.scale);
          }
        });
  }
}

// A warp has one tap and 32 channels, all filters (up to 64), and keeps their sums over all
// samples.
template <class M>
__device__ void resident_weights(const GemmPart& p, int block, typename M::Element* shared) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int split = block / p.tiles_m, item = block % p.tiles_m * resident_warps + threadIdx.x / 32;
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
  wait_for_predecessor();
  const int blocks_c = s.channels / 32, tap = item / blocks_c, c = item % blocks_c * 32;
  const int ky = p.by_kernel_w.quotient(tap), kx = tap - ky * s.kernel_w;
  const bool real = tap < taps;
  Sums sums[2] = {};
  float4 total{};
  for (int first = split * p.split_depth; first < p.count; first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    load_rows<M>(p.input + static_cast<std::int64_t>(first) * floats, samples * floats,
                 p.by_channels, pitch, images);
    for (int i = 0; i < samples; ++i)
      load_routed<M>(p, first + i, gradient_pitch, gradients + i * gradient, total);
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
  if (!p.bias || block % p.tiles_m != 0) return;
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
  resident_forward<M>(part, blockIdx.x, reinterpret_cast<typename M::Element*>(raw));
}

template <class M>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_backward_kernel(const __grid_constant__ GemmParts parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<typename M::Element*>(raw);
  if (blockIdx.x < parts.data_blocks)
    resident_data<M>(parts.data, blockIdx.x, shared);
  else
    resident_weights<M>(parts.weights[0], blockIdx.x - parts.data_blocks, shared);
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

}  // namespace sweetspot::engine::cuda
