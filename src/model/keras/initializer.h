#pragma once
#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// Keras' defaults for kernels, biases and scales.
Initializer glorot_uniform();
Initializer zeros();
Initializer ones();

// The seed in the file is not used: initial values come from the run's own seed.
Initializer read_initializer(Fields& layer, std::string_view field, const Initializer& otherwise);

}  // namespace sweetspot::model::keras
