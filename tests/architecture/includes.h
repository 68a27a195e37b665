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

enum class Fault {
  in_no_part,         // the file is in no part of the architecture
  names_no_part,      // the included file is in none
  not_downward,       // upwards or sideways
  not_of_this_part,   // a part below it that may be used only through another one
  between_folders,    // of one part
  out_of_its_folder,  // a heavy dependency
  heavy_header,       // in a header of ours
};

struct Violation {
  Include include;
  Fault fault;
};

// Of the tables in tables.cpp.
std::vector<Violation> violations(const std::vector<Include>& includes);
std::string words(const Violation& violation);

}  // namespace sweetspot::architecture
