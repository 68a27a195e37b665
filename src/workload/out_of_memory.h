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

// Frameworks tell of a lack of memory in words only. Does this line of a program's output? What may
// have other causes (CUDNN_STATUS_NOT_SUPPORTED, "Killed") or only mentions it does not.
bool prints_out_of_memory(std::string_view line);
// Whether a line may tell of it, or more of it: most do not.
bool may_tell_of_memory(std::string_view line);
// Does the text of this exception? It is about a failure anyway, so fewer words will do.
bool throws_out_of_memory(std::string_view message);

}  // namespace sweetspot::workload
