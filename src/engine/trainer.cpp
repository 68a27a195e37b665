#include "engine/trainer.h"

#include "core/error.h"

namespace sweetspot::engine {

int state_floats(Optimizer::Kind kind) {
  switch (kind) {
    case Optimizer::Kind::sgd:
      return 0;
    case Optimizer::Kind::momentum:
    case Optimizer::Kind::nesterov:
      return 1;
    case Optimizer::Kind::adam:
    case Optimizer::Kind::adamw:
      return 2;
  }
  return 0;
}

// Only the CPU engine implements these so far.
StepResult Trainer::evaluate_gradients(const BatchView&) {
  throw core::InputError(
      "gradients without dropout are computed on the CPU only; use --device cpu");
}

Checkpoint Trainer::checkpoint() const {
  throw core::InputError(
      "a training run is continued from a checkpoint on the CPU only; use --device cpu");
}

void Trainer::restore(const Checkpoint&) { checkpoint(); }

std::span<float> Trainer::trainable_weights() {
  throw core::InputError("ranks share weights on the CPU only; use --device cpu");
}

}  // namespace sweetspot::engine
