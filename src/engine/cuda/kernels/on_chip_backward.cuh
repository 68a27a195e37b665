#pragma once
#include "engine/cuda/kernels/first_conv.cuh"
#include "engine/cuda/kernels/on_chip.cuh"

// The backward pass of such convolutions: the gradients of input and weights concurrently, the
// former into memory or on to the first convolution's weights.
namespace sweetspot::engine::cuda {

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

// … or on to the first convolution's weights, one sample per block. The gradient overwrites the
// operand it was computed from, and what the layer itself needs is loaded before the wait.
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
    image = reduction + on_chip_warps * 1024;
    codes = reinterpret_cast<std::uint8_t*>(image + (p.shape.in_h * p.shape.in_w + 3) / 4 * 4);
    if (sample >= p.count) return;
    const int floats = windows() * p.shape.filters;
    const std::uint8_t* from = p.code + static_cast<std::int64_t>(sample) * floats;
    for (int i = 16 * threadIdx.x; i < floats; i += 16 * on_chip_threads)
      copy16(from + i, codes + i);
    if (threadIdx.x / 32 >= sample_warp)
      load_strip<1>(p, p.source.row(sample), 0, p.shape.in_h, image, sample_warp);
  }
  __device__ void store(const GemmPart& part, int, int at, int n, float a, float b) const {
    store2(gradient + at * part.shape.channels + n, a, b);
  }
  __device__ void finish(int sample) {
    const int filters = p.shape.filters, bits = filter_bits(p), f = threadIdx.x & (filters - 1);
    FilterSums<KH, KW, 1> sums;
    if (sample < p.count)
      sums.add(
          p, image, threadIdx.x >> bits, on_chip_threads >> bits, windows(),
          [&](int window) { return gradient[(window << bits) + f]; },
          [&](int window) { return codes[(window << bits) + f]; });
    sums.template write<on_chip_threads>(p, sample, reduction);
  }
};

template <class M, class Into>
__device__ void on_chip_data(const GemmPart& p, int block, typename M::Element* shared, Into into) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int taps = s.kernel_h * s.kernel_w, positions = p.by_out.divisor;
  const int pitch = s.filters + Operand<Element, true>::pad, image = positions * pitch;
  Element* images = shared + taps * s.channels * pitch;
  Element* zeros = images + p.split_depth * image;  // read by taps outside the image
  const int operand = (p.split_depth * image + pitch) * static_cast<int>(sizeof(Element));
  auto* scratch = reinterpret_cast<float2*>(reinterpret_cast<unsigned char*>(images) +
                                            (max(operand, Into::bytes(p)) + 15) / 16 * 16);
  if (p.operands)
    copy_rows<M>(p.operands, taps * s.channels * s.filters, p.by_filters, pitch, shared);
  else
    load_rows<M>(p.weights, taps * s.channels * s.filters, p.by_filters, pitch, shared);
  for (int i = threadIdx.x; i < pitch; i += on_chip_threads) zeros[i] = Element(0.f);
  const int inputs = p.by_in.divisor;
  const OnChipShare share(p, block, (inputs + 31) / 32, s.channels / 32);
  into.prepare(share.split, reinterpret_cast<float*>(images), scratch);
  wait_for_predecessor();
  for (int first = share.split * p.split_depth; first < p.count;
       first += p.splits * p.split_depth) {
    const int samples = min(p.split_depth, p.count - first);
    __syncthreads();
    float4 unused{};
    load_routed<M>(p, first, samples, pitch, image, images, unused);
    wait_for_copies();
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
  wait_for_copies();  // also in blocks without a sample
  into.finish(share.split);
}

// A warp has one tap and 32 channels, all filters (up to 64), and keeps their sums over all
// samples.
template <class M>
__device__ void on_chip_weights(const GemmPart& p, int block, typename M::Element* shared) {
  using Element = typename M::Element;
  const ConvShape& s = p.shape;
  const int split = p.by_tiles_m.quotient(block);
  const int item = (block - split * p.tiles_m) * on_chip_warps + threadIdx.x / 32;
  const int taps = s.kernel_h * s.kernel_w, positions = p.by_out.divisor;
  const int depth = (positions + depth_step - 1) / depth_step * depth_step;
  const int pitch = s.channels + Operand<Element, false>::pad, image = s.in_h * s.in_w * pitch;
  const int gradient_pitch = s.filters + Operand<Element, false>::pad;
  const int gradient = depth * gradient_pitch, floats = s.in_h * s.in_w * s.channels;
  int* table = reinterpret_cast<int*>(shared);  // where each position's patch begins
  Element* images = shared + depth * (sizeof(int) / sizeof(Element));
  Element* gradients = images + p.split_depth * image;
  for (int k = threadIdx.x; k < depth; k += on_chip_threads) {
    const int y = p.by_out_w.quotient(k), x = k - y * s.out_w;
    table[k] = k < positions ? (y * s.stride_h * s.in_w + x * s.stride_w) * pitch : 0;
  }
  const int padding = (depth - positions) * gradient_pitch;  // the rest of the depth stays zero
  for (int i = threadIdx.x; i < p.split_depth * padding; i += on_chip_threads) {
    const int sample = i / padding;
    gradients[sample * gradient + positions * gradient_pitch + i - sample * padding] = Element(0.f);
  }
  const auto input = [&](int first) { return p.input + static_cast<std::int64_t>(first) * floats; };
  // Every n-th group of samples; or a share of all samples' steps, which may begin and end inside a
  // sample, and whose samples are loaded together.
  const int steps = depth / depth_step;
  int begin = split * p.split_depth, apart = p.splits * p.split_depth, most = p.split_depth;
  int first_step = 0, end_step = steps;  // of its first and last sample
  if (p.fine) {
    const int all = p.count * steps, from = split * all / p.splits;
    const int to = (split + 1) * all / p.splits;
    begin = from / steps, most = (to + steps - 1) / steps - begin, apart = p.count;
    if (from == to) begin = p.count;  // fewer steps than splits
    first_step = from - begin * steps, end_step = to - (begin + most - 1) * steps;
  }
  // The input is older than the predecessor; only the gradient comes from it.
  load_rows<M>(input(begin), max(0, min(most, p.count - begin)) * floats, p.by_channels, pitch,
               images);
  wait_for_predecessor();
  const int blocks_c = s.channels / 32, tap = blocks_c == 1 ? item : item / blocks_c;
  const int c = (item - tap * blocks_c) * 32;
  const int ky = p.by_kernel_w.quotient(tap), kx = tap - ky * s.kernel_w;
  const bool real = tap < taps;
  Sums sums[2] = {};
  float4 total{};
  for (int first = begin; first < p.count; first += apart) {
    const int samples = min(most, p.count - first);
    __syncthreads();
    if (first != begin)  // the sums leave few registers
      load_rows<M, 4>(input(first), samples * floats, p.by_channels, pitch, images);
    // The owner of a sample's first step adds its sums for the bias.
    load_routed<M>(p, first, samples, gradient_pitch, gradient, gradients, total, first_step > 0);
    __syncthreads();
    for (int i = 0; real && i < samples; ++i) {
      const int end = (i + 1 == samples ? end_step : steps) * depth_step;
      for (int k = i == 0 ? first_step * depth_step : 0; k < end; k += depth_step)
        M::template multiply_columns<depth_step>(
            images + i * image + (ky * s.in_w + kx) * pitch + c, table,
            Operand<Element, false>{gradients + i * gradient, gradient_pitch}, k, sums);
    }
  }
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  // A warp's rows all exist: no check per row.
  float* to = p.partials + split * p.partial_stride +
              (static_cast<std::int64_t>(item) * 32 + g) * s.filters + 2 * t;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    if (!real || 8 * j >= s.filters) break;
    Finished v;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) v[i][e] = sums[j / 4][i / 2][j % 4][i % 2 * 2 + e];
      store2(to + 8 * i * s.filters + 8 * j, v[i][0], v[i][1]);
    }
    check_range<M>(p, v);
  }
  if (!p.bias || block != split * p.tiles_m) return;
  // A thread has the same four filters throughout.
  auto* columns = reinterpret_cast<float*>(shared);
  __syncthreads();
  const int per_row = s.filters / 4;
  *reinterpret_cast<float4*>(columns + threadIdx.x / per_row * s.filters +
                             threadIdx.x % per_row * 4) = total;
  __syncthreads();
  if (threadIdx.x >= s.filters) return;
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < on_chip_threads / per_row; ++i) sum += columns[i * s.filters + threadIdx.x];
  p.partials[split * p.partial_stride + static_cast<std::int64_t>(taps) * s.channels * s.filters +
             threadIdx.x] = sum;
}

template <class M>
__global__ void __launch_bounds__(on_chip_threads, 1)
    on_chip_backward_kernel(const __grid_constant__ GemmParts parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<typename M::Element*>(raw);
  if (blockIdx.x < parts.data_blocks)
    on_chip_data<M>(parts.data, blockIdx.x, shared, IntoMemory());
  else
    on_chip_weights<M>(parts.weights[0], blockIdx.x - parts.data_blocks, shared);
}

template <class M, int KH, int KW>
__global__ void __launch_bounds__(on_chip_threads, 1)
    merged_backward_kernel(const __grid_constant__ MergedBackward parts) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto* shared = reinterpret_cast<typename M::Element*>(raw);
  // The gradient of the weights takes longest.
  if (blockIdx.x < parts.weight_blocks)
    on_chip_weights<M>(parts.weights, blockIdx.x, shared);
  else
    on_chip_data<M>(parts.data, blockIdx.x - parts.weight_blocks, shared,
                    IntoFirstConv<KH, KW>{parts.first});
}

template <class M>
cudaError_t launch_on_chip_backward_with(const GemmParts& parts, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(on_chip_backward_kernel<M>, current_chip().shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  const int data = parts.data_blocks ? on_chip_bytes_of<M>(parts.data) : 0;
  const int weights = parts.weight_blocks[0] ? on_chip_bytes_of<M>(parts.weights[0]) : 0;
  return launch(on_chip_backward_kernel<M>, parts.data_blocks + parts.weight_blocks[0],
                on_chip_threads, data > weights ? data : weights, stream, parts);
}

template <class M, int KH, int KW>
cudaError_t launch_merged_backward_as(const MergedBackward& parts, cudaStream_t stream) {
  static const cudaError_t allowed =
      allow_shared_memory(merged_backward_kernel<M, KH, KW>, current_chip().shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  const int data = static_cast<int>(
      merged_shared_bytes(parts.first.shape, parts.data.shape, sizeof(typename M::Element)));
  const int weights = on_chip_bytes_of<M>(parts.weights);
  return launch(merged_backward_kernel<M, KH, KW>, parts.data_blocks + parts.weight_blocks,
                on_chip_threads, data > weights ? data : weights, stream, parts);
}

template <class M>
cudaError_t launch_merged_backward_with(const MergedBackward& parts, cudaStream_t stream) {
  return parts.first.shape.kernel_h == 4 ? launch_merged_backward_as<M, 4, 4>(parts, stream)
                                         : launch_merged_backward_as<M, 3, 3>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
