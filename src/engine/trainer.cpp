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

std::string_view name(Optimizer::Kind kind) {
  switch (kind) {
    case Optimizer::Kind::sgd:
      return "sgd";
    case Optimizer::Kind::momentum:
      return "momentum";
    case Optimizer::Kind::nesterov:
      return "nesterov";
    case Optimizer::Kind::adam:
      return "adam";
    case Optimizer::Kind::adamw:
      return "adamw";
  }
  return "";
}

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
  }
  return "";
}

}  // namespace sweetspot::engine
