#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Copies the part of a sample that is read from Keras' order into units of 16 channels.
std::unique_ptr<Op> make_input(const model::Shape& full, Tensor* out);
std::unique_ptr<Op> make_activation(std::string name, model::Activation function, Tensor* in,
                                    Tensor* out);
// `full`: the shape including dead positions, which indexes the mask.
std::unique_ptr<Op> make_dropout(std::string name, double rate, std::uint32_t layer,
                                 const model::Shape& full, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
