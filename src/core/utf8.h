#pragma once
#include <cstddef>
#include <string_view>

namespace sweetspot::core {

// Bytes of the character at the front of `text`, which is not empty: 0 for what is no valid UTF-8,
// for control characters (terminals obey those from U+0080 to U+009F too) and for those that turn
// the direction of the text around, so that a line reads as something else.
std::size_t printable_bytes(std::string_view text);

}  // namespace sweetspot::core
