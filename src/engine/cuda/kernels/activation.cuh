#pragma once
#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"

// The elementwise functions, for any pass.
namespace sweetspot::engine::cuda {

__device__ inline float activated(Function function, float x) {
  switch (function) {
    case Function::relu:
      return rectified(x);
    case Function::sigmoid:
      return 1 / (1 + expf(-x));
    case Function::tanh:
      return tanhf(x);
    case Function::linear:
      break;
  }
  return x;
}

// The derivative, from the function's value y; a NaN at a ReLU passes no gradient.
__device__ inline float through_activation(Function function, float y, float gradient) {
  switch (function) {
    case Function::relu:
      return y > 0 ? gradient : 0.f;
    case Function::sigmoid:
      return gradient * y * (1 - y);
    case Function::tanh:
      return gradient * (1 - y * y);
    case Function::linear:
      break;
  }
  return gradient;
}
__device__ inline float4 through_activation(Function function, float4 y, float4 gradient) {
  return {
      through_activation(function, y.x, gradient.x), through_activation(function, y.y, gradient.y),
      through_activation(function, y.z, gradient.z), through_activation(function, y.w, gradient.w)};
}

}  // namespace sweetspot::engine::cuda
