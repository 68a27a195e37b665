#pragma once
#include <algorithm>
#include <atomic>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// `count` is a multiple of the unit.
inline double squared_norm(const float* values, std::int64_t count) {
  return kernels().layers.penalty(0, 1, values, count);
}

// Wraps another update and also sums the squares of the gradients it applies, including penalties,
// while they are in cache.
class SquaredUpdate final : public Update {
 public:
  explicit SquaredUpdate(const Update& update) : update_(update) {}

  void apply(std::int64_t offset, std::int64_t count, float* gradients,
             const Following& following) const override {
    constexpr std::int64_t block = 256 * unit;  // 16 KiB, which stay in the L1 cache
    double sum = 0;
    for (std::int64_t at = 0; at < count; at += block) {
      const std::int64_t size = std::min(block, count - at);
      update_.apply(offset + at, size, gradients + at, following);  // it adds the penalties
      sum += squared_norm(gradients + at, size);
    }
    sum_.fetch_add(sum, std::memory_order_relaxed);
  }
  bool apply_to_pairs(const Bf16Kernels& kernels, std::int64_t offset, std::int64_t rows,
                      float* gradients, const Following& following,
                      const PanelPairs& to) const override {
    if (!update_.apply_to_pairs(kernels, offset, rows, gradients, following, to)) return false;
    sum_.fetch_add(squared_norm(gradients, rows * to.width), std::memory_order_relaxed);
    return true;
  }
  std::array<const float*, 3> memory(std::int64_t offset) const override {
    return update_.memory(offset);
  }
  // The threads add in any order, so the last bits of the double differ between runs; those of the
  // float do not.
  double sum() const { return static_cast<float>(sum_.load(std::memory_order_relaxed)); }

 private:
  const Update& update_;
  mutable std::atomic<double> sum_{0};
};

}  // namespace sweetspot::engine::cpu
