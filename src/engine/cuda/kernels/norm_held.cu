#include <algorithm>

#include "engine/cuda/kernels/norm_held.cuh"

namespace sweetspot::engine::cuda {
namespace {

struct OneBlock {
  __device__ void begin() const { wait_for_predecessor(); }
  __device__ bool first() const { return true; }
  template <int, int count>
  __device__ void add(float4 (&)[count], const NormPass&, int) const {}
  __device__ void leave() const {}
};

}  // namespace

NormShares share_norm_held(int rows, bool pooled, int padded, bool clusters) {
  constexpr int most_rows = 8, most_columns = 8, cluster = 8;  // rows of a thread
  const int vectors = padded / 4, each = pooled ? 4 : 1, units = rows / each;
  // The most columns that leave enough threads for all rows; 0: not even one does.
  const auto columns_of = [&](int block_units) {
    int columns = 0;
    for (int next = 1; next <= most_columns && next < 2 * vectors; next *= 2) {
      const int groups = threads / next;
      if ((block_units + groups - 1) / groups * each > most_rows) break;
      columns = next;
    }
    return columns;
  };
  // Memory is read in units of two vectors.
  const int least = std::min(2, vectors);
  NormShares s;
  s.columns = columns_of(units), s.slices = s.columns >= least ? 1 : 0;
  if (s.slices == 0 && clusters) {
    s.columns = columns_of((units + cluster - 1) / cluster);
    s.slices = s.columns >= least ? cluster : 0;
  }
  return s;
}

cudaError_t launch_norm_held(const NormPass& n, bool backward, cudaStream_t stream) {
  return launch(held_kernel<OneBlock>(n, 1, backward), norm_blocks(n, 1), threads, 0, stream, n);
}

}  // namespace sweetspot::engine::cuda
