#pragma once
#include <set>
#include <string>
#include <vector>

namespace sweetspot::tests {

// A command as its own --help shows it.
struct HelpedCommand {
  std::vector<std::string> words;  // {"data", "fetch"}; none: the program
  std::set<std::string> flags;     // "--json"
  std::string help;

  std::string path() const;  // "sweetspot data fetch"
};

// The program and every command that its help lists, and that theirs list.
std::vector<HelpedCommand> commands_of_help();

}  // namespace sweetspot::tests
