#pragma once
#include <nlohmann/json_fwd.hpp>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// What to do with a model that the engines do not train: it ends every such refusal.
std::string_view other_way();

// Refuses the first layer of `layers` whose class nobody reads, by that class, with the nearest
// that are read. Before anything else is said about the model: whoever has an LSTM wants to hear
// that, and not that its input has an axis too many.
void refuse_unknown_layers(const nlohmann::json& layers, const Place& place);

}  // namespace sweetspot::model::keras
