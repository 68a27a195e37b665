#pragma once
#include <memory>

#include "engine/cuda/op.h"
#include "engine/cuda/ops/product.h"
#include "engine/layers.h"

namespace sweetspot::engine::cuda {

std::unique_ptr<Op> make_depthwise(std::string name, const DepthwisePlane& plane, bool relu,
                                   const ProductWeights& weights, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
