#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// `full`: the input's shape with its dead positions, by which alpha, at `weights`, is indexed.
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::size_t weights, Tensor* in,
                               Tensor* out);

}  // namespace sweetspot::engine::cpu
