#pragma once
#include "engine/cuda/kernels/packed_epilogue.cuh"
#include "engine/cuda/kernels/packed_launch.cuh"
#include "engine/cuda/kernels/packed_loaders.cuh"
#include "engine/cuda/kernels/wgmma.cuh"

// The products of large convolutions and dense layers on Hopper: operands are packed in memory, 16
// bits each, copied unchanged into shared memory, three or four stages ahead, and multiplied from
// there by warpgroups, each with 64 rows of a tile. Epilogues and divisions are those of gemm.cuh.
//
// Precisions beyond 16 bits are sums of bf16 terms (pack.cu): an operand of two terms has 16 bits
// of mantissa (for tf32, which requires 11), one of three has the 24 of fp32. Their product is that
// of pairs of terms; the omitted pairs are smaller than the last bit.
namespace sweetspot::engine::cuda {

constexpr int left_bytes = packed_rows * stage_depth * 2;
template <int n>
constexpr int stage_bytes = left_bytes + (n + 63) / 64 * panel_bytes;
// As many as fit for two blocks per multiprocessor.
template <int n>
constexpr int packed_stages = n > 64 ? 3 : 4;
template <int n>
constexpr int packed_shared_bytes = packed_stages<n>* stage_bytes<n>;

// Stages are filled while earlier ones are multiplied. A block waits for its own products before it
// starts the next: a second block on the multiprocessor keeps the tensor cores busy.
template <bool bf16, int n, class Terms, class A, class B>
__device__ void multiply_packed(const A& a, const B& b, int begin, int end, std::uint32_t shared,
                                float (&sums)[n / 2]) {
  constexpr int stages = packed_stages<n>;
  const int steps = max(0, (end - begin + Terms::depth - 1) / Terms::depth);
  int next = 0;
  const auto fill = [&] {
    if (next < steps) {
      const std::uint32_t to = shared + next % stages * stage_bytes<n>;
      const int k = begin + next * Terms::depth;
      a.copy(k, end, to);
      b.copy(k, end, to + left_bytes);
    }
    ++next;
    copies_commit();
  };
  for (int i = 0; i < stages - 1; ++i) fill();
  const std::uint32_t rows_of_group = threadIdx.x / 128 * panel_bytes;
  // From one element of the depth to the next.
  constexpr int a_step = A::across ? 128 : 2, b_step = B::across ? 128 : 2;
  for (int i = 0; i < steps; ++i) {
    copies_wait<stages - 2>();
    show_tensor_cores();
    wgmma_wait<0>();
    __syncthreads();  // this stage is loaded, and the next one to fill is free
    const std::uint32_t tile = shared + i % stages * stage_bytes<n>;
    wgmma_begin();
#pragma unroll
    for (int j = 0; j < Terms::pairs; ++j)
#pragma unroll
      for (int k = 0; k < Terms::depth; k += 16) {
        const Pair pair = Terms::pair(j);
        WarpgroupProduct<n>::template run<bf16, A::across, B::across>(
            sums,
            operand_descriptor(tile + rows_of_group + (pair.left * Terms::depth + k) * a_step),
            operand_descriptor(tile + left_bytes + (pair.right * Terms::depth + k) * b_step));
      }
    wgmma_commit();
    fill();
  }
  wgmma_wait<0>();
  copies_wait<0>();
  __syncthreads();
}

template <bool bf16, GemmKind kind, int n, class Terms>
__device__ void run_packed(const GemmPart& p, const Phase& phase, int m0, int n0, int begin,
                           int end, std::uint32_t shared, float (&sums)[n / 2]) {
  const auto multiply = [&](const auto& a, const auto& b) {
    multiply_packed<bf16, n, Terms>(a, b, begin, end, shared, sums);
  };
  if constexpr (kind == GemmKind::forward)
    multiply(PackedPatches<Terms>(p, m0), PackedKernelRows<n, Terms>(p, n0));
  else if constexpr (kind == GemmKind::data)
    multiply(PackedGradientRows<Terms>(p, phase, m0), PackedKernelColumns<n, Terms>(p, phase, n0));
  else
    multiply(PackedPatchColumns<Terms>(p, m0), PackedGradientColumns<n, Terms>(p, n0));
}

template <class M, GemmKind kind, int n, int terms>
__global__ void __launch_bounds__(packed_threads, 2)
    packed_kernel(const __grid_constant__ GemmPart p) {
  static_assert(packed_sums_bytes<n> <= packed_shared_bytes<n>);
  extern __shared__ __align__(1024) unsigned char lines[];
  constexpr bool bf16 = M::is_bf16();
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(lines));
  float sums[n / 2] = {};
  const PackedPlace place(p, kind == GemmKind::data);
  const int m0 = place.tile_m * packed_rows, n0 = place.tile_n * n;
  const ConvShape& s = p.shape;
  const Phase phase(p, place.which);
  const int depth = kind == GemmKind::forward ? s.kernel_h * s.kernel_w * s.channels
                    : kind == GemmKind::data  ? phase.depth(p)
                                              : p.count * static_cast<int>(p.by_out.divisor);
  const int begin = min(place.split * p.split_depth, depth);
  const int end = p.splits > 1 ? min(begin + p.split_depth, depth) : depth;
  wait_for_predecessor();
  const auto run = [&](auto which_terms) {
    run_packed<bf16, kind, n, decltype(which_terms)>(p, phase, m0, n0, begin, end, shared, sums);
  };
  if constexpr (terms == 2) run(TwoTerms{});
  if constexpr (terms == 3) run(SmallOfThreeTerms{});
  if constexpr (terms != 2) run(OneTerm{});
  finish_packed<M, kind, n>(p, phase, place, reinterpret_cast<float*>(lines), sums,
                            [&](int row, int& tap, int& c) {
                              tap = p.by_packed_channels.quotient(m0 + row);
                              c = m0 + row - tap * s.channels;
                              return tap < s.kernel_h * s.kernel_w;
                            });
}

template <class M, GemmKind kind, int n, int terms>
cudaError_t launch_packed_as(const GemmPart& p, cudaStream_t stream) {
  constexpr auto kernel = packed_kernel<M, kind, n, terms>;
  constexpr int bytes = packed_shared_bytes<n>;
  static const cudaError_t allowed = allow_shared_memory(kernel, bytes);
  if (allowed != cudaSuccess) return allowed;
  return launch_tiles(kernel, p, packed_threads, bytes, stream, p);
}
template <class M, int terms>
cudaError_t launch_packed_with(const GemmPart& p, int columns, cudaStream_t stream) {
  return launch_kind(p.kind, [&](auto kind) {
    return launch_columns<32, 64, 96, 128>(columns, [&](auto n) {
      return launch_packed_as<M, decltype(kind)::kind, decltype(n)::count, terms>(p, stream);
    });
  });
}

}  // namespace sweetspot::engine::cuda
