#include "engine/cuda/kernels/gemm.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_gemm_tf32(const GemmParts& parts, int blocks, cudaStream_t stream) {
  return launch_gemm_with<Tf32>(parts, blocks, stream);
}

}  // namespace sweetspot::engine::cuda
