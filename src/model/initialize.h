#pragma once
#include <cstdint>
#include <span>

#include "model/network.h"

namespace sweetspot::model {

// Fills `values` (Keras' layout) for the parameter with this index in parameters(): element i comes
// from the counter-based generator keyed by (seed, Purpose::weights, index), on every engine.
void initialize(const Parameter& parameter, std::uint32_t index, std::uint64_t seed,
                std::span<float> values);

}  // namespace sweetspot::model
