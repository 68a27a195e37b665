#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::store::sqlite {

// Steps as one text of bytes, 57 for each: seconds and phases as little-endian doubles, samples as
// a little-endian 64-bit number, flags. A row for each step would take ten times the time.
std::string pack(const std::vector<trial::Step>& steps);
// Readings likewise, 32 for each: three doubles and, third, the bytes of memory; NaN and -1 are
// unknown.
std::string pack(const std::vector<trial::Reading>& trace);
// Nothing when these bytes are no steps, or no readings.
std::optional<std::vector<trial::Step>> unpack_steps(std::string_view bytes);
std::optional<std::vector<trial::Reading>> unpack_trace(std::string_view bytes);

}  // namespace sweetspot::store::sqlite
