#pragma once
#include <memory>

#include "engine/cuda/op.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cuda
