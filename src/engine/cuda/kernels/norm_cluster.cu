#include <algorithm>

#include "engine/cuda/kernels/norm.cuh"
#include "engine/cuda/kernels/norm_cluster.h"

namespace sweetspot::engine::cuda {
namespace {

constexpr int cluster_blocks = 8;  // as many as every GPU with clusters has

// The blocks of a cluster: each has a slice of the rows, and reads what the others have merged from
// their shared memory.
struct Cluster {
  __device__ bool first() const { return blockIdx.y == 0; }

  // All blocks merge the same values in the same order.
  template <class T>
  __device__ T merge(T mine, int column, bool holds) const {
    __shared__ T all[most_norm_columns];
    if (holds) all[column] = mine;
    arrive(), wait();
    if (holds) {
      T values[cluster_blocks];
#pragma unroll
      for (int block = 0; block < cluster_blocks; ++block) values[block] = read(all[column], block);
      mine = values[0];
#pragma unroll
      for (int block = 1; block < cluster_blocks; ++block) mine = merged(mine, values[block]);
    }
    arrive();
    return mine;
  }
  // The others may still read this block's shared memory.
  __device__ void leave() const { wait(); }

 private:
  __device__ static void arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
  __device__ static void wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

  template <class T>
  __device__ static T read(const T& mine, int block) {
    const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(&mine));
    std::uint32_t at = 0;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(own), "r"(block));
    T value;
    auto* to = reinterpret_cast<float*>(&value);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(float)); ++i)
      asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(to[i]) : "r"(at + 4 * i) : "memory");
    return value;
  }
};

__global__ void __launch_bounds__(threads) norm_cluster_kernel(const __grid_constant__ NormPass n) {
  norm_at_once(n, Cluster{});
}
template <bool pooled>
__global__ void __launch_bounds__(threads)
    norm_cluster_backward_kernel(const __grid_constant__ NormPass n) {
  norm_backward_at_once<pooled>(n, Cluster{});
}

cudaError_t launch_clusters(void (*kernel)(NormPass), const NormPass& n, int bytes,
                            cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = norm_blocks(n, cluster_blocks), config.blockDim = threads;
  config.dynamicSmemBytes = bytes, config.stream = stream;
  cudaLaunchAttribute with[2];
  with[0].id = cudaLaunchAttributeClusterDimension;
  with[0].val.clusterDim.x = with[0].val.clusterDim.z = 1;
  with[0].val.clusterDim.y = cluster_blocks;
  with[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with[1].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = with, config.numAttrs = current_chip().programmatic ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, n);
}

}  // namespace

NormShares share_norm_in_clusters(int rows, int padded, int multiprocessors) {
  // Of a block: more would come from memory again, where a kernel of its own for the second pass
  // uses the whole chip.
  constexpr std::int64_t most_bytes = 192 * 1024;
  // Memory is read in units of two vectors.
  constexpr int least_columns = 2;
  const int vectors = padded / 4, clusters = std::max(1, multiprocessors / cluster_blocks);
  NormShares s;
  s.columns =
      power_of_two(std::max((vectors + clusters - 1) / clusters, std::min(least_columns, vectors)));
  const std::int64_t share = (rows + cluster_blocks - 1) / cluster_blocks;
  s.slices =
      s.columns <= most_norm_columns && share * s.columns * 16 <= most_bytes ? cluster_blocks : 0;
  return s;
}

cudaError_t launch_norm_in_clusters(const NormPass& n, cudaStream_t stream) {
  return launch_clusters(norm_cluster_kernel, n, group_places * sizeof(Moments), stream);
}
cudaError_t launch_norm_backward_in_clusters(const NormPass& n, cudaStream_t stream) {
  return launch_clusters(
      n.pooled ? norm_cluster_backward_kernel<true> : norm_cluster_backward_kernel<false>, n,
      group_places * sizeof(Totals), stream);
}

}  // namespace sweetspot::engine::cuda
