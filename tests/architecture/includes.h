#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::architecture {

// One #include of a source file; `file` is relative to src/.
struct Include {
  std::string file;
  std::string target;  // between the quotes or brackets
  bool quoted = false;
};

std::vector<Include> includes_of(const std::string& file, std::string_view text);

// A sentence for each include that breaks the architecture; the tables are in includes.cpp.
std::vector<std::string> violations(const std::vector<Include>& includes);

}  // namespace sweetspot::architecture
