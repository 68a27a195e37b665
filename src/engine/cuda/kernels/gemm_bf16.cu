#include "engine/cuda/kernels/gemm.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_forward_bf16(const GemmPart& part, cudaStream_t stream) {
  return launch_forward_with<Bf16>(part, stream);
}
cudaError_t launch_backward_bf16(const GemmParts& parts, cudaStream_t stream) {
  return launch_backward_with<Bf16>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
