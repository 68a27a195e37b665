#pragma once
#include <cuda_runtime_api.h>

namespace sweetspot::collective {

// MachineError if a call of the CUDA runtime failed.
void check(cudaError_t error, const char* what);

}  // namespace sweetspot::collective
