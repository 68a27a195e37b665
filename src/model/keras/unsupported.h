#pragma once
#include <nlohmann/json_fwd.hpp>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// What to do with a model that the engines cannot train: the end of every such message.
std::string_view other_way();

// Rejects the first layer of `layers` with an unknown class, by that class, with the nearest known
// ones. Comes before any other check: a user with an LSTM needs to know that, not that its input
// has an axis too many.
void refuse_unknown_layers(const nlohmann::json& layers, const Place& place);

}  // namespace sweetspot::model::keras
