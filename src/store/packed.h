#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::store {

// Steps as one text of bytes, all numbers little-endian: seconds and phases as doubles, samples as
// 64 bits, flags as a byte. That is layout 1, 57 bytes for each step; layout 2 goes on with updates
// as 64 bits and the round as 32, 69 in all. A row for each step would take ten times the time.
constexpr int step_layout = 2;  // of what is written
std::string pack(const std::vector<trial::Step>& steps);
// Readings likewise, 32 for each: three doubles and, third, the bytes of memory; NaN and -1 are
// unknown.
std::string pack(const std::vector<trial::Reading>& trace);
// Nothing when these bytes are no steps of this layout, or no readings.
std::optional<std::vector<trial::Step>> unpack_steps(std::string_view bytes, int layout);
std::optional<std::vector<trial::Reading>> unpack_trace(std::string_view bytes);

}  // namespace sweetspot::store
