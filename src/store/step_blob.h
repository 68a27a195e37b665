#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::store {

// Steps as one byte string, all numbers little-endian: seconds and phases as doubles, samples as 64
// bits, flags as a byte, updates as 64 bits, the round as 32: 69 bytes per step. One row per step
// would take ten times as long.
std::string pack(const std::vector<trial::Step>& steps);
// Readings likewise, 32 bytes each: three doubles and, third, the bytes of memory; NaN and -1 are
// unknown.
std::string pack(const std::vector<trial::Reading>& trace);
// nullopt if these bytes are not steps, or not readings.
std::optional<std::vector<trial::Step>> unpack_steps(std::string_view bytes);
std::optional<std::vector<trial::Reading>> unpack_trace(std::string_view bytes);

}  // namespace sweetspot::store
