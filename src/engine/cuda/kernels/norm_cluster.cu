#include "engine/cuda/kernels/norm_held.cuh"

namespace sweetspot::engine::cuda {
namespace {

constexpr int cluster_blocks = 8;  // as many as every GPU with clusters has
constexpr int most_cluster_columns = 8;

// The blocks of a cluster: each has a slice of the rows, and reads the others' sums from their
// shared memory. All add the same values in the same order.
struct Cluster {
  // The successor starts when these blocks end: they fill their multiprocessors, and its blocks
  // would crowd on the others.
  __device__ void begin() const { asm volatile("griddepcontrol.wait;" ::: "memory"); }
  __device__ bool first() const { return blockIdx.y == 0; }

  // `which`: each call of a kernel has its own memory, which the others read at any time until the
  // end.
  template <int which, int count>
  __device__ void add(float4 (&v)[count], const NormPass& n, int column) const {
    __shared__ float4 mine[count][most_cluster_columns];
    __shared__ float4 all[count][cluster_blocks][most_cluster_columns];
    if (threadIdx.x < n.columns)
#pragma unroll
      for (int i = 0; i < count; ++i) mine[i][threadIdx.x] = v[i];
    arrive(), wait();
    const int block = threadIdx.x / most_cluster_columns;
    const int of = threadIdx.x % most_cluster_columns;
    if (block < cluster_blocks && of < n.columns)
#pragma unroll
      for (int i = 0; i < count; ++i) all[i][block][of] = read(mine[i][of], block);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < count; ++i) {
      v[i] = {};
#pragma unroll
      for (int b = 0; b < cluster_blocks; ++b) v[i] = v[i] + all[i][b][column];
    }
  }
  // The others may still read this block's shared memory.
  __device__ void leave() const { arrive(), wait(); }

 private:
  __device__ static void arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
  __device__ static void wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

  __device__ static float4 read(const float4& mine, int block) {
    const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(&mine));
    std::uint32_t at = 0;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(own), "r"(block));
    float4 v;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(at)
                 : "memory");
    return v;
  }
};

}  // namespace

cudaError_t launch_norm_in_clusters(const NormPass& n, bool backward, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = norm_blocks(n, cluster_blocks), config.blockDim = threads;
  config.stream = stream;
  cudaLaunchAttribute with[2];
  with[0].id = cudaLaunchAttributeClusterDimension;
  with[0].val.clusterDim.x = with[0].val.clusterDim.z = 1;
  with[0].val.clusterDim.y = cluster_blocks;
  with[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with[1].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = with, config.numAttrs = current_chip().programmatic ? 2 : 1;
  return cudaLaunchKernelEx(&config, held_kernel<Cluster>(n, cluster_blocks, backward), n);
}

}  // namespace sweetspot::engine::cuda
