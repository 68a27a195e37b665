#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sweetspot::core {

// A place in a text that is filled in later: "{batch}", and what comes there.
struct Placeholder {
  std::string name;
  std::string value;
};
// Nothing escapes a placeholder, what is filled in is not filled again, and any other {word} stays
// as it is.
std::string filled(std::string_view text, std::span<const Placeholder> placeholders);

}  // namespace sweetspot::core
