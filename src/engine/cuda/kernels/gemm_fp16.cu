#include "engine/cuda/kernels/gemm.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_forward_fp16(const GemmPart& part, cudaStream_t stream) {
  return launch_forward_with<Fp16>(part, stream);
}
cudaError_t launch_backward_fp16(const GemmParts& parts, cudaStream_t stream) {
  return launch_backward_with<Fp16>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
