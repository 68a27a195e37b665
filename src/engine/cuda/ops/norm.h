#pragma once
#include <memory>
#include <optional>

#include "engine/cuda/op.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

struct NormWeights {
  std::optional<std::int64_t> gamma, beta;
  std::int64_t moving_mean = 0, moving_variance = 0, floats = 0;
};
// Batch normalisation and the activation behind it. `per_position`: a flattened image, each of
// whose elements is a feature.
std::unique_ptr<Op> make_norm(std::string name, const model::BatchNormalization& norm,
                              bool per_position, model::Activation activation,
                              const NormWeights& weights, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
