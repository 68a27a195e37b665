#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

struct LayerNormGeometry {
  float epsilon = 1e-3f;
  bool whole_sample = false;  // a vector, flattened or not, rather than each position's channels
  std::optional<std::size_t> gamma, beta;  // offsets into the weight buffer, in floats
};

std::unique_ptr<Op> make_layer_norm(std::string name, const LayerNormGeometry& geometry, Tensor* in,
                                    Tensor* out);

}  // namespace sweetspot::engine::cpu
