#pragma once
#include "model/network.h"

namespace sweetspot::engine::cpu {

// The same network as it is computed here. An image keeps its layout through Flatten, and the
// weights of the dense layer after it have rows for the padding of its channels: 32 for 19, with
// their gradients and moments. Where that is much, its elements are closed up: Flatten becomes a
// rearrangement. One that comes first needs none (see flattened_first).
model::Network with_cheap_flattening(model::Network network);

}  // namespace sweetspot::engine::cpu
