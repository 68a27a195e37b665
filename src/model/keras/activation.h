#pragma once
#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// "relu", {"class_name": "function", "config": "relu"} or a layer such as ReLU, as Keras writes
// them; linear when absent. `input` is what the layer that has it reads.
Activation read_activation(Fields& layer, std::string_view field, const Shape& input);

// The function of a layer that is one and has no weights (ReLU, LeakyReLU, ELU, Softmax …), or
// nothing for any other layer.
std::optional<Activation> read_function_layer(const std::string& class_name, Fields& config,
                                              const Shape& input);

}  // namespace sweetspot::model::keras
