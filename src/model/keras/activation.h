#pragma once
#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// An activation given as a name, as a serialised function or as a layer object.
Activation read_activation(Fields& layer, std::string_view field, const Shape& input);
// The layers that are a function and nothing else.
Activate read_relu(Fields& config);
Activate read_softmax(Fields& config, const Shape& input);

}  // namespace sweetspot::model::keras
