#pragma once
#include "engine/cuda/kernels/device.cuh"

namespace sweetspot::engine::cuda {

// The scalars of the step's gradients and its update. Keras folds Adam's bias correction into the
// learning rate. The last block of the loss kernel has nothing else to do, since two powers in
// double take as long as a whole sample's loss. A skipped update does not count. Nothing here
// depends on the predecessor, and all readers of the previous step's rate have ended.
__device__ inline void prepare_update(StepState& state, double beta1, double beta2, bool begins) {
  const float loss_scale = state.loss_scale;
  double first = 1, second = 1;  // the powers of both, interleaved
  for (std::uint32_t t = state.step + 1 - state.skipped; t > 0; t /= 2) {
    if (t % 2) first *= beta1, second *= beta2;
    beta1 *= beta1, beta2 *= beta2;
  }
  state.adam_rate = static_cast<float>(state.learning_rate * sqrt(1 - second) / (1 - first));
  state.unscale = __frcp_rn(loss_scale);  // a power of two: exact
  if (begins) state.bad = 0;
}
__device__ inline void prepare_update(const Head& h) {
  if (threadIdx.x == 0 && h.logit_gradient) prepare_update(*h.state, h.beta1, h.beta2, h.begins);
}

template <class T>
__device__ T warp_sum(T v) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(0xffffffffu, v, apart);
  return v;
}

}  // namespace sweetspot::engine::cuda
