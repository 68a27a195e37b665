#pragma once
#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// "relu", {"class_name": "function", "config": "relu"} or a layer such as ReLU, as Keras writes
// them; linear if absent. `input` is the input of the layer that has it.
Activation read_activation(Fields& layer, std::string_view field, const Shape& input);

// The function of a layer that is one and has no weights (ReLU, LeakyReLU, ELU, Softmax …), or
// nullopt for any other layer.
std::optional<Activation> read_function_layer(const std::string& class_name, Fields& config,
                                              const Shape& input);

// Keras' defaults for kernels, biases and scales.
Initializer glorot_uniform();
Initializer zeros();
Initializer ones();

// The seed in the file is ignored: initial values come from the run's own seed.
Initializer read_initializer(Fields& layer, std::string_view field, const Initializer& otherwise);

// L1, L2 or L1L2, as a name or as an object; no penalty when the field is absent.
Regularizer read_regularizer(Fields& layer, std::string_view field);

}  // namespace sweetspot::model::keras
