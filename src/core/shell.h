#pragma once
#include <span>
#include <string>

namespace sweetspot::core {

// Quoted if a shell would interpret it.
std::string shell_word(const std::string& word);
// One command line; terminal control characters are made visible.
std::string shell_line(std::span<const std::string> words);

}  // namespace sweetspot::core
