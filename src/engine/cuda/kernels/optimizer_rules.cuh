#pragma once
#include "engine/cuda/kernels/params.h"

// The optimizer's update of a weight from its gradient, in any kernel.
namespace sweetspot::engine::cuda {

struct Rates {
  float learning, adam;
  Rates() = default;
  __device__ explicit Rates(const StepState& s)
      : learning(__ldcg(&s.learning_rate)), adam(__ldcg(&s.adam_rate)) {}
};
__device__ inline float updated(const OptimizerRule& r, Rates rate, float w, float g, float& mean,
                                float& square) {
  switch (r.kind) {
    case OptimizerRule::Kind::sgd:
      return w - rate.learning * g;
    case OptimizerRule::Kind::momentum:
      mean = r.momentum * mean - rate.learning * g;
      return w + mean;
    case OptimizerRule::Kind::nesterov:
      mean = r.momentum * mean - rate.learning * g;
      return w + r.momentum * mean - rate.learning * g;
    case OptimizerRule::Kind::adam:
      mean = r.beta1 * mean + (1 - r.beta1) * g;
      square = r.beta2 * square + (1 - r.beta2) * g * g;
      return w - (r.decay * rate.learning * w + rate.adam * mean / (sqrtf(square) + r.epsilon));
  }
  return w;
}

__device__ inline float4 updated(const OptimizerRule& r, Rates rate, float4 w, float4 g,
                                 float4& mean, float4& square) {
  return {
      updated(r, rate, w.x, g.x, mean.x, square.x), updated(r, rate, w.y, g.y, mean.y, square.y),
      updated(r, rate, w.z, g.z, mean.z, square.z), updated(r, rate, w.w, g.w, mean.w, square.w)};
}

}  // namespace sweetspot::engine::cuda
