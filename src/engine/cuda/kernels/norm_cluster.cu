#include "engine/cuda/kernels/cluster.cuh"
#include "engine/cuda/kernels/norm_held.cuh"
#include "engine/cuda/kernels/norm_sums.cuh"

namespace sweetspot::engine::cuda {
namespace {

// The blocks of a cluster: each has a slice of the rows, and writes its sums into the others'
// shared memory. All add the same values in the same order.
struct Cluster {
  // Any of these blocks may write to another as soon as that one has started.
  __device__ Cluster() { cluster_arrive(); }
  __device__ int count() const { return static_cast<int>(gridDim.y); }
  __device__ int rank() const { return static_cast<int>(blockIdx.y); }
  // In the first warp of every block.
  __device__ float total(const WarpSums& parts) const {
    __shared__ float all[most_held_blocks][32];
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    const int warps = static_cast<int>(blockDim.x / 32);
    cluster_wait();
#pragma unroll 1
    for (int block = warp; block < count(); block += warps)
      store_of(&all[rank()][lane], block, over_warps(parts));
    cluster_arrive(), cluster_wait();
    float sum = 0;
    if (warp == 0)
#pragma unroll 1
      for (int i = 0; i < count(); ++i) sum += all[i][lane];
    return sum;
  }
};

// The same for a first pass: the first block of each cluster adds and stores the sums.
struct OneSlice {
  __device__ static void enter() { cluster_arrive(); }
  __device__ static float over_blocks(float sum) {
    __shared__ float all[norm_cluster_blocks][most_outputs];
    cluster_wait();  // until all have started
    if (threadIdx.x < most_outputs)
      store_of(&all[blockIdx.y % norm_cluster_blocks][threadIdx.x], 0, sum);
    cluster_arrive(), cluster_wait();
    sum = 0;
    if (stores() && threadIdx.x < most_outputs)
#pragma unroll
      for (int i = 0; i < norm_cluster_blocks; ++i) sum += all[i][threadIdx.x];
    return sum;
  }
  __device__ static bool stores() { return blockIdx.y % norm_cluster_blocks == 0; }
  __device__ static int slice() { return static_cast<int>(blockIdx.y / norm_cluster_blocks); }
};

struct ClusterLaunch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[2];
  ClusterLaunch(dim3 blocks, int in_cluster, int threads, int bytes, cudaStream_t stream) {
    config.gridDim = blocks, config.blockDim = threads;
    config.dynamicSmemBytes = bytes, config.stream = stream;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = attributes[0].val.clusterDim.z = 1;
    attributes[0].val.clusterDim.y = in_cluster;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attributes, config.numAttrs = current_chip().programmatic ? 2 : 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
};
cudaError_t launch_clusters(NormKernel kernel, dim3 blocks, int in_cluster, int threads, int bytes,
                            cudaStream_t stream, const NormPass& n) {
  const ClusterLaunch launch(blocks, in_cluster, threads, bytes, stream);
  return cudaLaunchKernelEx(&launch.config, kernel, n);
}

}  // namespace

cudaError_t launch_norm_sums_in_clusters(const NormPass& n, bool backward, cudaStream_t stream) {
  return launch_clusters(sums_kernel<OneSlice>(n, backward),
                         norm_blocks(n, n.shares.slices * norm_cluster_blocks), norm_cluster_blocks,
                         norm_threads, 0, stream, n);
}

cudaError_t launch_norm_in_clusters(const NormPass& n, bool backward, cudaStream_t stream) {
  const HeldLaunch l = held_launch<Cluster>(n, backward);
  cudaError_t error = allow_shared(l);
  if (error == cudaSuccess && n.shares.slices > most_cluster_blocks)
    error = cudaFuncSetAttribute(l.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) return error;
  return launch_clusters(l.kernel, norm_blocks(n, n.shares.slices), n.shares.slices, l.threads,
                         l.bytes, stream, n);
}

int most_norm_blocks() {
  static const int most = [] {
    const auto kernel = norm_held_backward_kernel<false, false, false, false, Cluster>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    const ClusterLaunch launch(dim3(1, most_held_blocks), most_held_blocks, most_held_threads,
                               32 * 1024, nullptr);
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) == cudaSuccess)
      return clusters > 0 ? most_held_blocks : most_cluster_blocks;
    cudaGetLastError();
    return most_held_blocks;  // as an H200 has
  }();
  return most;
}

}  // namespace sweetspot::engine::cuda
