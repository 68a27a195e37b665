#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "core/error.h"

namespace sweetspot::collective {

// MachineError if a call of the CUDA runtime failed.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw core::MachineError(std::string("the GPU failed at ") + what + " for its ranks (" +
                             cudaGetErrorString(error) + "); see nvidia-smi");
}

}  // namespace sweetspot::collective
