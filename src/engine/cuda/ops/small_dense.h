#pragma once
#include "engine/cuda/ops/norm.h"
#include "engine/cuda/ops/product.h"

namespace sweetspot::engine::cuda {

// A batch normalisation directly behind a dense layer.
struct NormBehind {
  model::BatchNormalization layer;
  NormWeights weights;
  model::Activation activation = model::Activation::linear;  // after it
};

// A dense layer of few weights with few samples, in training.
bool runs_small(const ConvShape& shape, std::int64_t micro_batch, bool normalised);
std::unique_ptr<ProductOp> make_small_dense(std::string name, const ConvShape& shape, bool relu,
                                            const std::optional<FusedDropout>& dropout,
                                            const ProductWeights& weights,
                                            const std::optional<NormBehind>& norm, Tensor* in,
                                            Tensor* out);

}  // namespace sweetspot::engine::cuda
