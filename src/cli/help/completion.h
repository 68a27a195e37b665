#pragma once
#include <string>

#include "cli/help/command_tree.h"

namespace sweetspot::cli {

// Scripts that complete commands, flags and files; after "--" they complete a program's own command
// line.
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

}  // namespace sweetspot::cli
