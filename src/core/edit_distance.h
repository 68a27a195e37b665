#pragma once
#include <cstddef>
#include <string_view>

namespace sweetspot::core {

// The number of characters that must change (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace sweetspot::core
