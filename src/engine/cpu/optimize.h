#pragma once
#include "engine/cpu/op.h"
#include "engine/cpu/penalty.h"
#include "engine/trainer.h"

namespace sweetspot::engine::cpu {

// One step of an optimizer, as Keras defines it, over any range of the weights.
class OptimizerUpdate final : public Update {
 public:
  // `step` counts from 1; state holds `trainable` floats once or twice.
  OptimizerUpdate(const Optimizer& optimizer, std::uint32_t step, const Kernels& kernels,
                  const Penalties& penalties, float* weights, float* state, std::int64_t trainable);
  void apply(std::int64_t offset, std::int64_t count, float* gradients,
             const Following& following) const override;
  bool apply_to_pairs(const Bf16Kernels& kernels, std::int64_t offset, std::int64_t rows,
                      float* gradients, const Following& following,
                      const PanelPairs& to) const override;
  std::array<const float*, 3> memory(std::int64_t offset) const override {
    return {weights_ + offset, first_ ? first_ + offset : nullptr,
            second_ ? second_ + offset : nullptr};
  }

 private:
  bool is_adam() const { return kind_ == Optimizer::Kind::adam || kind_ == Optimizer::Kind::adamw; }

  const Kernels& kernels_;
  const Penalties& penalties_;
  Optimizer::Kind kind_;
  float learning_rate_;
  MomentumStep momentum_;
  AdamStep adam_;
  float *weights_, *first_, *second_;
};

}  // namespace sweetspot::engine::cpu
