#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/cuda/kernels/chip.h"
#include "engine/cuda/kernels/vectors.cuh"

// Blocks of a cluster, which Hopper and its successors run at the same time: they wait for each
// other and read each other's shared memory.
namespace sweetspot::engine::cuda {

__device__ inline int cluster_rank() {
  std::uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}
__device__ inline int cluster_index() {
  std::uint32_t index = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(index));
#endif
  return static_cast<int>(index);
}

// Between them lies what does not depend on the cluster's other threads; after the wait, all that
// have not ended have arrived, and this one sees what they had written.
__device__ inline void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive;" ::: "memory");
#endif
}
__device__ inline void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait;" ::: "memory");
#endif
}
__device__ inline void cluster_barrier() { cluster_arrive(), cluster_wait(); }

// Where block `rank` has what this block has at `own`, in shared memory.
__device__ inline std::uint32_t place_of(const float* own, int rank) {
  std::uint32_t at = 0;
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(at)
      : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(own))), "r"(rank));
#endif
  return at;
}
__device__ inline float4 load4_of(const float* own, int rank) {
  float4 v{};
#if __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(place_of(own, rank))
               : "memory");
#endif
  return v;
}
__device__ inline void store_of(const float* own, int rank, float value) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(place_of(own, rank)), "f"(value)
               : "memory");
#endif
}

// The sum over the first `blocks` blocks of the cluster, in their order.
__device__ inline float4 sum4_of_cluster(const float* own, int blocks) {
  float4 sum{};
#pragma unroll 4
  for (int rank = 0; rank < blocks; ++rank) sum = sum + load4_of(own, rank);
  return sum;
}

// As `launch`, every `cluster` adjacent blocks together.
template <class Argument>
cudaError_t launch_in_clusters(void (*kernel)(Argument), int blocks, int cluster, int threads,
                               int bytes, cudaStream_t stream, const Argument& argument) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks, config.blockDim = threads;
  config.dynamicSmemBytes = bytes, config.stream = stream;
  cudaLaunchAttribute with[2];
  with[0].id = cudaLaunchAttributeClusterDimension;
  with[0].val.clusterDim.x = cluster;
  with[0].val.clusterDim.y = with[0].val.clusterDim.z = 1;
  with[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with[1].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = with, config.numAttrs = current_chip().programmatic ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, argument);
}

}  // namespace sweetspot::engine::cuda
