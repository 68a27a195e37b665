#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

struct BatchNormGeometry {
  float momentum = 0.99f, epsilon = 1e-3f;
  bool per_position = false;  // a flattened input has statistics for each of its elements
  std::optional<std::size_t> gamma, beta;  // offsets into the weight buffer, in floats
  std::size_t moving_mean = 0, moving_variance = 0;
};

// Statistics are those of the micro-batch, so accumulation does not equal the whole batch here.
std::unique_ptr<Op> make_batch_norm(std::string name, const BatchNormGeometry& geometry, Tensor* in,
                                    Tensor* out);

}  // namespace sweetspot::engine::cpu
