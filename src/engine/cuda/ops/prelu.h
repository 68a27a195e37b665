#pragma once
#include <memory>

#include "engine/cuda/op.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

// `full`: the input's shape including dead positions; alpha has `floats` floats, including padding.
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::int64_t weights, std::int64_t floats,
                               Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
