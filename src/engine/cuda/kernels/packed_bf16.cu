#include "engine/cuda/kernels/packed_product.cuh"

namespace sweetspot::engine::cuda {

cudaError_t launch_packed_bf16(const GemmPart& part, int columns, cudaStream_t stream) {
  return launch_packed_with<Bf16, 1>(part, columns, stream);
}

}  // namespace sweetspot::engine::cuda
