#pragma once
#include <cstddef>
#include <string_view>

namespace sweetspot::core {

// Bytes of the character at the front of `text`, which is not empty: 0 for invalid UTF-8, for
// control characters (terminals also obey those from U+0080 to U+009F) and for bidirectional
// controls, which make a line read as something else.
std::size_t printable_bytes(std::string_view text);

}  // namespace sweetspot::core
