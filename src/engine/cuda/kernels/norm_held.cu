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
  // Bytes of a block. With so few, more blocks only cost more latency; with so many, or with so
  // many on each multiprocessor, two kernels are faster.
  constexpr std::int64_t few = 8 * 1024, many = 32 * 1024, many_backward = 40 * 1024;
  constexpr std::int64_t many_alone = 64 * 1024, many_together = 36 * 1024;
  const std::int64_t most_bytes = !chip.warpgroups ? many_alone : backward ? many_backward : many;
  const int most_blocks = chip.warpgroups ? most_norm_blocks() : 1;
  const int vectors = n.padded / 4;
  const std::int64_t units = n.pooled ? n.rows / 4 : n.rows;
  const auto bytes_of = [&](int columns) { return units * columns * held_bytes(n, backward); };
  // Memory is read, and unless it is little, written in sectors of 32 bytes.
  const bool reads_half = n.input_terms.terms > 0 || (backward && n.gradient_terms.terms > 0);
  const bool writes_half = (backward ? n.input_gradient_terms : n.output_terms).terms > 0;
  const bool half = reads_half || (writes_half && bytes_of(2) > few);
  NormShares s;
  while (s.columns < vectors && s.columns < (half ? 4 : 2)) s.columns *= 2;
  const int tiles = (vectors + s.columns - 1) / s.columns;
  const std::int64_t bytes = bytes_of(s.columns);
  const auto too_few_blocks = [&] { return 4 * tiles * s.slices < 3 * chip.multiprocessors; };
  while (s.slices < most_blocks && bytes > few * s.slices &&
         (too_few_blocks() || bytes > most_bytes * s.slices))
    s.slices *= 2;
  const bool too_many = chip.warpgroups && bytes * tiles > many_together * chip.multiprocessors;
  if (bytes > most_bytes * s.slices || too_many) s.slices = 0;
  return s;
}

cudaError_t launch_norm_held(const NormPass& n, bool backward, cudaStream_t stream) {
  const HeldLaunch l = held_launch<OneBlock>(n, backward);
  if (const cudaError_t error = allow_shared(l); error != cudaSuccess) return error;
  return launch(l.kernel, norm_blocks(n, 1), l.threads, l.bytes, stream, n);
}

}  // namespace sweetspot::engine::cuda
