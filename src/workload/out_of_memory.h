#pragma once
#include <cstddef>
#include <string_view>

namespace sweetspot::workload {

// Floods of output are searched for these, so each is found by a letter that is rare in program
// output.
struct RareSubstring {
  std::string_view text;
  std::size_t rare;  // its index in the text
};

inline bool has(std::string_view line, const RareSubstring& part) {
  for (std::size_t at = part.rare; (at = line.find(part.text[part.rare], at)) != line.npos; ++at)
    if (line.substr(at - part.rare).starts_with(part.text)) return true;
  return false;
}

// Frameworks report a lack of memory only in words. Does this line of a program's output? Lines
// that may have other causes (CUDNN_STATUS_NOT_SUPPORTED, "Killed") or only mention it do not.
bool prints_out_of_memory(std::string_view line);
// Whether a line may report it, or add to it: most do not.
bool may_tell_of_memory(std::string_view line);
// Does the text of this exception? It is about a failure anyway, so fewer words suffice.
bool throws_out_of_memory(std::string_view message);

}  // namespace sweetspot::workload
