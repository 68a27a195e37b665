#pragma once
#include <memory>

#include "engine/cpu/op.h"

// Layers that move values and compute nothing.
namespace sweetspot::engine::cpu {

std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out);

// The source of element i of the output in memory order, −1 for padding.
std::vector<std::int32_t> rearranged_from(const model::Rearrange& rearrange, const Extent& in,
                                          const Extent& out);
std::unique_ptr<Op> make_rearrange(std::string name, std::vector<std::int32_t> from, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cpu
