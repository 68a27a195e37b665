#pragma once
#include <memory>

#include "engine/cpu/op.h"
#include "engine/element_function.h"

namespace sweetspot::engine::cpu {

// Of an activation that is an element_function().
std::unique_ptr<Op> make_function(std::string name, const model::Activation& activation, Tensor* in,
                                  Tensor* out);

std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cpu
