#pragma once
#include <nlohmann/json_fwd.hpp>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// The layers of a functional model (Keras 2 or 3) in the order of its chain, without their
// inbound_nodes. Rejects a graph that is not a chain, naming the layer.
nlohmann::json chain_of(Fields& config);

}  // namespace sweetspot::model::keras
