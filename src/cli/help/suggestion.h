#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/help/command_tree.h"

namespace sweetspot::cli {

// The name that was probably meant by `word`, which nobody knows: one that differs in few letters,
// or the only one that begins with it.
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& names);

// For a stray argument of `command`: one of its flags, or of the commands below it.
std::optional<std::string> suggestion(const Command& command, const std::string& stray);

}  // namespace sweetspot::cli
