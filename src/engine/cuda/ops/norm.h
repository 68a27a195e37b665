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
// What is fused into a normalisation's passes.
struct NormFusion {
  bool per_position = false;  // a flattened image, each of whose elements is a feature
  model::Activation activation = model::Activation::linear;  // after it
  bool pooled = false;                                       // 2×2 max pooling after that
};
std::unique_ptr<Op> make_norm(std::string name, const model::BatchNormalization& norm,
                              const NormFusion& fusion, const NormWeights& weights, Tensor* in,
                              Tensor* out);

}  // namespace sweetspot::engine::cuda
