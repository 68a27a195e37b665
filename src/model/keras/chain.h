#pragma once
#include <nlohmann/json_fwd.hpp>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// The layers of a functional model (Keras 2 or 3) in the order in which its one input runs through
// them, without their inbound_nodes. Refuses a graph that is not a chain, by the layer at which it
// is not.
nlohmann::json chain_of(Fields& config);

}  // namespace sweetspot::model::keras
