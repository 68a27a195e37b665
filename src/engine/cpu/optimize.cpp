#include "engine/cpu/optimize.h"

#include <cmath>

namespace sweetspot::engine::cpu {

OptimizerUpdate::OptimizerUpdate(const Optimizer& o, std::uint32_t step, const Kernels& kernels,
                                 const Penalties& penalties, float* weights, float* state,
                                 std::int64_t trainable)
    : kernels_(kernels),
      penalties_(penalties),
      kind_(o.kind),
      learning_rate_(static_cast<float>(o.learning_rate)),
      momentum_{learning_rate_, static_cast<float>(o.momentum),
                o.kind == Optimizer::Kind::nesterov},
      weights_(weights),
      first_(state_floats(o.kind) > 0 ? state : nullptr),
      second_(state_floats(o.kind) > 1 ? state + trainable : nullptr) {
  // Keras folds the bias correction into the learning rate and leaves epsilon outside it.
  const double correction = std::sqrt(1 - std::pow(o.beta2, step)) / (1 - std::pow(o.beta1, step));
  adam_ = {static_cast<float>(o.learning_rate * correction), static_cast<float>(o.beta1),
           static_cast<float>(o.beta2), static_cast<float>(o.epsilon),
           o.kind == Optimizer::Kind::adamw ? static_cast<float>(o.learning_rate * o.weight_decay)
                                            : 0.f};
}

void OptimizerUpdate::apply(std::int64_t offset, std::int64_t count, float* gradients,
                            const Following& following) const {
  penalties_.add_gradients(weights_, offset, count, gradients);
  switch (kind_) {
    case Optimizer::Kind::sgd:
      return kernels_.sgd(learning_rate_, count, gradients, weights_ + offset);
    case Optimizer::Kind::momentum:
    case Optimizer::Kind::nesterov:
      return kernels_.momentum(momentum_, count, gradients, weights_ + offset, first_ + offset);
    case Optimizer::Kind::adam:
    case Optimizer::Kind::adamw:
      return kernels_.adam(adam_, count, gradients, weights_ + offset, first_ + offset,
                           second_ + offset, following);
  }
}

bool OptimizerUpdate::apply_to_pairs(const Bf16Kernels& kernels, std::int64_t offset,
                                     std::int64_t rows, float* gradients,
                                     const Following& following, const PanelPairs& to) const {
  if (!is_adam()) return false;
  penalties_.add_gradients(weights_, offset, rows * to.width, gradients);
  kernels.adam_pairs(adam_, rows, gradients, weights_ + offset, first_ + offset, second_ + offset,
                     following, to);
  return true;
}

}  // namespace sweetspot::engine::cpu
