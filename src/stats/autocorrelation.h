#pragma once
#include <optional>
#include <span>

namespace sweetspot::stats {

// How much a value resembles the one before it, −1 to 1; nothing below three values or without any
// variation.
std::optional<double> lag1_autocorrelation(std::span<const double> values);

}  // namespace sweetspot::stats
