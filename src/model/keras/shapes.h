#pragma once
#include <span>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// [null, 28, 28, 1], [null, 100, 3] or [null, 10], or nullopt if the field is absent.
std::optional<Shape> read_shape(Fields& fields, std::string_view field);
// Of one to three sizes.
Shape shape_of(std::span<const std::int64_t> sizes, const Place& place, std::string_view field);

// The layer's output shape; rejects impossible ones, and those larger than any machine.
Shape output_shape(const LayerKind& kind, const Shape& input, const Place& place);

// Rejects a network whose totals would overflow their counters.
void check_totals(const Network& network, const Place& place);

}  // namespace sweetspot::model::keras
