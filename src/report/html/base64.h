#pragma once
#include <span>
#include <string>

namespace sweetspot::report {

// float32, little-endian, as base64: a fifth of what the digits of a double take.
std::string base64_floats(std::span<const float> values);

}  // namespace sweetspot::report
