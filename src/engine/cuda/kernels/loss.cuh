#pragma once
#include "engine/cuda/kernels/device.cuh"

namespace sweetspot::engine::cuda {

// Keras folds Adam's bias correction into the learning rate. The last block of the loss's kernel
// has nothing else to do, since two powers in double take as long as the whole of a sample's loss.
// A skipped update is none.
__device__ inline void prepare_rate(const Head& h) {
  if (threadIdx.x != 0 || !h.logit_gradient) return;
  const double t = h.state->step + 1 - h.state->skipped;
  h.state->adam_rate = static_cast<float>(h.state->learning_rate * sqrt(1 - pow(h.beta2, t)) /
                                          (1 - pow(h.beta1, t)));
}

template <class T>
__device__ T warp_sum(T v) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(0xffffffffu, v, apart);
  return v;
}

}  // namespace sweetspot::engine::cuda
