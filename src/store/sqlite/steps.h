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
// Nothing when these bytes are no steps.
std::optional<std::vector<trial::Step>> unpack(std::string_view bytes);

}  // namespace sweetspot::store::sqlite
