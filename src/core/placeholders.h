#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sweetspot::core {

// A placeholder in a text, "{batch}", and its value.
struct Placeholder {
  std::string name;
  std::string value;
};
// Placeholders cannot be escaped, values are not filled again, and any other {word} stays
// unchanged.
std::string filled(std::string_view text, std::span<const Placeholder> placeholders);

}  // namespace sweetspot::core
