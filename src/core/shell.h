#pragma once
#include <span>
#include <string>

namespace sweetspot::core {

// Quoted where a shell would make something else of it.
std::string shell_word(const std::string& word);
// One command line; what a terminal would obey is made visible.
std::string shell_line(std::span<const std::string> words);

}  // namespace sweetspot::core
