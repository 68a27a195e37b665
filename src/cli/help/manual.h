#pragma once
#include <map>
#include <string>

#include "cli/help/command_tree.h"

namespace sweetspot::cli {

// Manual pages in man's own language, by file name: "sweetspot.1" and one for each command
// ("sweetspot-tune.1"), with the commands below it as sections.
std::map<std::string, std::string> manual_pages(const Command& program, const std::string& version);

}  // namespace sweetspot::cli
