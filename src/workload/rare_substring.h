#pragma once
#include <cstddef>
#include <string_view>

namespace sweetspot::workload {

// Floods of output are searched for these, so each is found by a letter that is rare in what
// programs print.
struct RareSubstring {
  std::string_view text;
  std::size_t rare;  // its place in the text
};

inline bool has(std::string_view line, const RareSubstring& part) {
  for (std::size_t at = part.rare; (at = line.find(part.text[part.rare], at)) != line.npos; ++at)
    if (line.substr(at - part.rare).starts_with(part.text)) return true;
  return false;
}

}  // namespace sweetspot::workload
