#pragma once
#include <memory>
#include <optional>

#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {

struct LayerNormWeights {
  std::optional<std::int64_t> gamma, beta;
  std::int64_t floats = 0;  // of each, including padding
};
std::unique_ptr<Op> make_layer_norm(std::string name, float epsilon, bool whole_sample,
                                    const LayerNormWeights& weights, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
