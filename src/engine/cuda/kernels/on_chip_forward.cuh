#pragma once
#include "engine/cuda/kernels/first_conv.cuh"
#include "engine/cuda/kernels/on_chip.cuh"

// The forward pass of such convolutions, from memory or from the first convolution in one kernel.
namespace sweetspot::engine::cuda {

// The dropout mask, generated once for all: four elements share a random number, and the first
// samples' are generated before they are needed. One byte each, (samples, windows, filters).
struct TabledDropout {
  std::uint8_t* table;
  int first;  // sample

  __device__ static bool suits(const GemmPart& p) {
    return p.dropout.threshold && p.dropout.channels == 64 && p.shape.filters == 64;
  }
  __device__ void draw(const GemmPart& p, int samples) const {
    const int windows = p.by_windows.divisor;
    for (int i = threadIdx.x; i < samples * windows * 16; i += on_chip_threads) {
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

// Where the input comes from: memory…
struct FromMemory {
  static constexpr bool follows_update = false;
  static constexpr int copying_threads = on_chip_threads;
  __device__ void prepare(int, float*, bool) const {}
  struct Filters {};
  __device__ Filters filters() const { return {}; }
  template <class M>
  __device__ void load(const GemmPart& p, int first, int samples, int pitch,
                       typename M::Element* images, const Filters&) const {
    const int floats = p.shape.in_h * p.shape.in_w * p.shape.channels;
    load_rows<M>(p.input + static_cast<std::int64_t>(first) * floats, samples * floats,
                 p.by_channels, pitch, images);
  }
};

// … or a first convolution, one sample per block, whose output is kept only for the backward pass.
template <int KH, int KW>
struct FromFirstConv {
  static constexpr bool follows_update = true;
  static constexpr int copying_threads = 32 * sample_warp;  // they do not locate the sample
  const FirstConv& p;
  float* image = nullptr;

  __device__ void prepare(int sample, float* shared, bool waited) {
    image = shared;
    if (waited != p.source.settled && threadIdx.x / 32 >= sample_warp)
      load_strip<1, true>(p, p.source.row(sample), 0, p.shape.in_h, image, sample_warp);
  }
  // The first of them, loaded together with the samples.
  using Filters = TensorTaps<KH, KW, 1>;
  __device__ Filters filters() const { return Filters(p, 0); }
  template <class M>
  __device__ void load(const GemmPart& part, int sample, int, int pitch,
                       typename M::Element* images, const Filters& begin) const {
    const int windows = part.by_in.divisor;
    for (int f0 = 0; f0 < p.shape.filters; f0 += 32) {
      const Filters taps = f0 == 0 ? begin : Filters(p, f0);
      for (int group = threadIdx.x / 32; group * 8 < windows; group += on_chip_warps)
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

// The weights of this block's columns, if they are cached as operands.
template <class M>
__device__ void copy_weights(const GemmPart& p, int depth, const OnChipShare& share, int pitch,
                             int threads, typename M::Element* to) {
  if (threadIdx.x >= threads) return;
  using Element = typename M::Element;
  constexpr int each = 16 / sizeof(Element), of_block = 32 / each;  // in a block of columns
  const int bits = 31 - __clz(of_block * share.columns), pieces = 1 << bits;
  const Element* from = static_cast<const Element*>(p.operands) + 32 * share.first_column;
#pragma unroll 4
  for (int i = threadIdx.x; i < depth << bits; i += threads) {
    const int row = i >> bits, column = each * (i & (pieces - 1));
    copy16(from + row * p.shape.filters + column, to + row * pitch + column);
  }
}

template <class M, class From>
__device__ void on_chip_forward(const GemmPart& p, int block, typename M::Element* shared,
                                From from) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, depth = taps * s.channels;
  const int windows = p.by_windows.divisor;
  const OnChipShare share(p, block, s.pool == 2 ? (windows + 7) / 8 : (windows + 31) / 32,
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
  if (p.operands) {
    copy_weights<M>(p, depth, share, weight_pitch, From::copying_threads, shared);
  } else {
    const int bits = share.columns == 1 ? 3 : 4,
              fours = 1 << bits;  // of this block's part of a row
#pragma unroll 8
    for (int i = threadIdx.x; i < depth * fours; i += on_chip_threads) {
      const int row = i >> bits, column = 4 * (i & (fours - 1));
      M::store(shared + row * weight_pitch + column,
               load4(p.weights + row * s.filters + 32 * share.first_column + column));
    }
  }
  const typename From::Filters filters = from.filters();
  dropout.first = share.split * p.split_depth;
  if (!From::follows_update) {
    if (tabled) dropout.draw(p, min(p.split_depth, p.count - dropout.first));
    wait_for_predecessor();
  }
  for (int first = share.split * p.split_depth; first < p.count;
       first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    if (tabled && dropout.first != first) dropout.first = first, dropout.draw(p, samples);
    from.template load<M>(p, first, samples, pitch, images, filters);
    if (tabled && From::follows_update) dropout.draw(p, samples);  // while the weights arrive
    wait_for_copies();
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
              finish_pooled<false>(p, first + sample, group * 8 + g, n, v, dropout);
            return;
          }
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = group * 32 + g + 8 * i;
            if (at < windows) finish_plain<false>(p, first + sample, at, n, v[i], dropout);
          }
        });
  }
}

template <class M>
__global__ void __launch_bounds__(on_chip_threads, 1)
    on_chip_forward_kernel(const __grid_constant__ GemmPart part) {
  extern __shared__ __align__(16) unsigned char raw[];
  on_chip_forward<M>(part, blockIdx.x, reinterpret_cast<typename M::Element*>(raw), FromMemory());
}

template <class M, int KH, int KW>
__global__ void __launch_bounds__(on_chip_threads, 1)
    merged_forward_kernel(const __grid_constant__ MergedForward parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  on_chip_forward<M>(parts.part, blockIdx.x, reinterpret_cast<typename M::Element*>(raw),
                     FromFirstConv<KH, KW>{parts.first});
}

template <class M>
cudaError_t launch_on_chip_forward_with(const GemmPart& p, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(on_chip_forward_kernel<M>, current_chip().shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(on_chip_forward_kernel<M>, p.tiles_m * p.tiles_n * p.splits, on_chip_threads,
                on_chip_bytes_of<M>(p), stream, p);
}

template <class M, int KH, int KW>
cudaError_t launch_merged_forward_as(const MergedForward& parts, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(merged_forward_kernel<M, KH, KW>, current_chip().shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch(merged_forward_kernel<M, KH, KW>, parts.part.count, on_chip_threads,
                on_chip_bytes_of<M>(parts.part), stream, parts);
}

template <class M>
cudaError_t launch_merged_forward_with(const MergedForward& parts, cudaStream_t stream) {
  return parts.first.shape.kernel_h == 4 ? launch_merged_forward_as<M, 4, 4>(parts, stream)
                                         : launch_merged_forward_as<M, 3, 3>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
