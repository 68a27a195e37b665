#include "engine/cuda/kernels/resident.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_resident_fp16(const GemmParts& parts, int blocks, cudaStream_t stream) {
  return launch_resident_with<Fp16>(parts, blocks, stream);
}

}  // namespace sweetspot::engine::cuda
