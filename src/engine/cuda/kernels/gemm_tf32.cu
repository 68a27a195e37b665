#include "engine/cuda/kernels/gemm.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_forward_tf32(const GemmPart& part, cudaStream_t stream) {
  return launch_forward_with<Tf32>(part, stream);
}
cudaError_t launch_backward_tf32(const GemmParts& parts, cudaStream_t stream) {
  return launch_backward_with<Tf32>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
