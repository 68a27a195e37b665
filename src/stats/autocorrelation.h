#pragma once
#include <optional>
#include <span>

namespace sweetspot::stats {

// The correlation of a value with the previous one, −1 to 1; nullopt below three values or without
// any variation.
std::optional<double> lag1_autocorrelation(std::span<const double> values);

}  // namespace sweetspot::stats
