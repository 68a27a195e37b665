#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Any activation but linear, ReLU, sigmoid, tanh and softmax, which elementwise.h and the loss
// have.
std::unique_ptr<Op> make_function(std::string name, const model::Activation& activation, Tensor* in,
                                  Tensor* out);
bool is_function(const model::Activation& activation);

std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cpu
