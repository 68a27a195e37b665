#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::store {

// Steps as one byte string, all numbers little-endian: seconds and phases as doubles, samples as 64
// bits, flags as a byte. That is layout 1, 57 bytes per step; layout 2 adds updates as 64 bits and
// the round as 32, 69 in all. One row per step would take ten times as long.
constexpr int step_layout = 2;  // of what is written
std::string pack(const std::vector<trial::Step>& steps);
// Readings likewise, 32 bytes each: three doubles and, third, the bytes of memory; NaN and -1 are
// unknown.
std::string pack(const std::vector<trial::Reading>& trace);
// nullopt if these bytes are not steps of this layout, or not readings.
std::optional<std::vector<trial::Step>> unpack_steps(std::string_view bytes, int layout);
std::optional<std::vector<trial::Reading>> unpack_trace(std::string_view bytes);

}  // namespace sweetspot::store
