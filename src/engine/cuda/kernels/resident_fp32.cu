#include "engine/cuda/kernels/resident.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_resident_fp32(const GemmParts& parts, int blocks, cudaStream_t stream) {
  return launch_resident_with<Fp32>(parts, blocks, stream);
}

}  // namespace sweetspot::engine::cuda
