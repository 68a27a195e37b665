#pragma once
#include <atomic>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Of floats in whole units.
inline double squared_norm(const float* values, std::int64_t count) {
  return kernels().layers.penalty(0, 1, values, count);
}

// Another update that also sums the squares of the gradients it applies, penalties included, while
// they are in cache.
class SquaredUpdate final : public Update {
 public:
  explicit SquaredUpdate(const Update& update) : update_(update) {}

  void apply(std::int64_t offset, std::int64_t count, float* gradients) const override {
    update_.apply(offset, count, gradients);  // it adds the penalties
    sum_.fetch_add(squared_norm(gradients, count), std::memory_order_relaxed);
  }
  // The threads add in any order, so the last bits of the double are not the same in every run;
  // those of the float are.
  double sum() const { return static_cast<float>(sum_.load(std::memory_order_relaxed)); }

 private:
  const Update& update_;
  mutable std::atomic<double> sum_{0};
};

}  // namespace sweetspot::engine::cpu
