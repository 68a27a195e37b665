#include "engine/cuda/kernels/resident_backward.cuh"
#include "engine/cuda/kernels/resident_forward.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_resident_forward_fp16(const GemmPart& part, cudaStream_t stream) {
  return launch_resident_forward_with<Fp16>(part, stream);
}
cudaError_t launch_resident_backward_fp16(const GemmParts& parts, cudaStream_t stream) {
  return launch_resident_backward_with<Fp16>(parts, stream);
}
cudaError_t launch_merged_forward_fp16(const MergedForward& parts, cudaStream_t stream) {
  return launch_merged_forward_with<Fp16>(parts, stream);
}
cudaError_t launch_merged_backward_fp16(const MergedBackward& parts, cudaStream_t stream) {
  return launch_merged_backward_with<Fp16>(parts, stream);
}

}  // namespace sweetspot::engine::cuda
