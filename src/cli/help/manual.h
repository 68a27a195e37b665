#pragma once
#include <map>
#include <string>

#include "cli/help/command_tree.h"

namespace sweetspot::cli {

// Manual pages in roff, by file name: "sweetspot.1" and one per command ("sweetspot-tune.1"), with
// its subcommands as sections.
std::map<std::string, std::string> manual_pages(const Command& program, const std::string& version);

}  // namespace sweetspot::cli
