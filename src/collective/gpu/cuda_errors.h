#pragma once
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"

namespace sweetspot::collective {

// MachineError if a call of the CUDA runtime failed.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw core::MachineError(fmt::format("the GPU failed at {} for its ranks ({}); see nvidia-smi",
                                         what, cudaGetErrorString(error)));
}

}  // namespace sweetspot::collective
