#pragma once
#include <memory>

#include "engine/cuda/op.h"
#include "engine/layers.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

std::unique_ptr<Op> make_function(std::string name, const engine::ElementFunction& function,
                                  Tensor* in, Tensor* out);
std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cuda
