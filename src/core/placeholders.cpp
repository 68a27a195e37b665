#include "core/placeholders.h"

#include <algorithm>

namespace sweetspot::core {

std::string filled(std::string_view text, std::span<const Placeholder> placeholders) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::ranges::find_if(placeholders, [&](const Placeholder& placeholder) {
      return text.substr(at).starts_with(placeholder.name);
    });
    if (found == placeholders.end())
      out += text[at++];
    else
      out += found->value, at += found->name.size();
  }
  return out;
}

}  // namespace sweetspot::core
