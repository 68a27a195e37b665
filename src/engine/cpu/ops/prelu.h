#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// `full`: the input's shape including dead positions, which indexes alpha, at `weights`.
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::size_t weights, Tensor* in,
                               Tensor* out);

}  // namespace sweetspot::engine::cpu
