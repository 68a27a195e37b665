#pragma once
#include <memory>

#include "engine/cuda/ops/product.h"
#include "engine/layers.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

// With the dropout behind it, if a sample's layout is that of its random numbers.
std::unique_ptr<Op> make_function(std::string name, const engine::ElementFunction& function,
                                  const std::optional<FusedDropout>& dropout, Tensor* in,
                                  Tensor* out);
std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cuda
