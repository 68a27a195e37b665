#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Copies what is read of a sample from Keras' order into units of 16 channels.
std::unique_ptr<Op> make_input(const model::Shape& full, Tensor* out);
std::unique_ptr<Op> make_activation(std::string name, model::Activation function, Tensor* in,
                                    Tensor* out);
// `full`: the shape before dead positions were dropped, by which the mask is indexed.
std::unique_ptr<Op> make_dropout(std::string name, double rate, std::uint32_t layer,
                                 const model::Shape& full, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
