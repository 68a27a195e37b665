#pragma once
#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// The layer of this class with this configuration; refuses a class we do not know and every field
// we do not honour.
LayerKind read_layer(const std::string& class_name, Fields& config, const Shape& input);

}  // namespace sweetspot::model::keras
