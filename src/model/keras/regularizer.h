#pragma once
#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// L1, L2 or L1L2, as a name or as an object; no penalty when the field is absent.
Regularizer read_regularizer(Fields& layer, std::string_view field);

}  // namespace sweetspot::model::keras
