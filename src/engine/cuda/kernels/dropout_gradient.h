#pragma once
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

// Dropout's gradient, and the derivative of the function that made its input, from its value.
struct DropoutGradient {
  DropoutPass pass;
  Function function;
  const float* value;
};
cudaError_t launch_dropout_gradient(const DropoutGradient& g, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
