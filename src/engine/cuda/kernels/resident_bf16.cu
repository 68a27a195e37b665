#include "engine/cuda/kernels/resident.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_resident_bf16(const GemmParts& parts, int blocks, cudaStream_t stream) {
  return launch_resident_with<Bf16>(parts, blocks, stream);
}

}  // namespace sweetspot::engine::cuda
