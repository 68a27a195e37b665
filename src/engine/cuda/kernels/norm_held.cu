#include <algorithm>

#include "engine/cuda/kernels/norm_held.cuh"

namespace sweetspot::engine::cuda {
namespace {

struct OneBlock {
  __device__ constexpr int count() const { return 1; }
  __device__ constexpr int rank() const { return 0; }
  // In the first warp.
  __device__ float total(const WarpSums& parts) const {
    return threadIdx.x < 32 ? over_warps(parts) : 0;
  }
};

}  // namespace

NormShares share_norm_held(const NormPass& n, bool backward, const Chip& chip) {
  // Bytes of a block. With so few, more blocks only cost more latency; with so many, two kernels on
  // all multiprocessors are faster.
  constexpr std::int64_t few = 8 * 1024, many = 32 * 1024, many_backward = 40 * 1024;
  constexpr std::int64_t many_alone = 64 * 1024;
  const std::int64_t most_bytes = !chip.warpgroups ? many_alone : backward ? many_backward : many;
  const int most_blocks = chip.warpgroups ? most_norm_blocks() : 1;
  const int vectors = n.padded / 4;
  // Memory is read in sectors of 32 bytes.
  const bool half = n.input_terms.terms > 0 || (backward && n.gradient_terms.terms > 0);
  NormShares s;
  while (s.columns < vectors && s.columns < (half ? 4 : 2)) s.columns *= 2;
  const int tiles = (vectors + s.columns - 1) / s.columns;
  const std::int64_t bytes =
      std::int64_t{n.pooled ? n.rows / 4 : n.rows} * s.columns * held_bytes(n, backward);
  const auto too_few_blocks = [&] { return 4 * tiles * s.slices < 3 * chip.multiprocessors; };
  while (s.slices < most_blocks && bytes > few * s.slices &&
         (too_few_blocks() || bytes > most_bytes * s.slices))
    s.slices *= 2;
  if (bytes > most_bytes * s.slices) s.slices = 0;
  return s;
}

cudaError_t launch_norm_held(const NormPass& n, bool backward, cudaStream_t stream) {
  const HeldLaunch l = held_launch<OneBlock>(n, backward);
  if (const cudaError_t error = allow_shared(l); error != cudaSuccess) return error;
  return launch(l.kernel, norm_blocks(n, 1), l.threads, l.bytes, stream, n);
}

}  // namespace sweetspot::engine::cuda
