#include "cli/commands_of_help.h"

#include <regex>
#include <sstream>

#include "cli/support.h"

namespace sweetspot::tests {
namespace {

void collect(std::vector<std::string> words, std::vector<HelpedCommand>& all) {
  HelpedCommand command{words, {}, ""};
  words.push_back("--help");
  command.help = run(words).out;
  words.pop_back();
  const std::regex flag(R"(^  (-[a-z],)?(--[a-z][a-z-]*)\b.*)"), below(R"(^  ([a-z-]+) .*)");
  std::vector<std::string> names;
  std::istringstream lines(command.help);
  std::smatch match;
  bool in_commands = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Examples")) break;
    if (!line.empty() && line[0] != ' ') in_commands = line == "Subcommands:";
    if (std::regex_match(line, match, flag)) command.flags.insert(match[2]);
    if (in_commands && std::regex_match(line, match, below)) names.push_back(match[1]);
  }
  all.push_back(command);
  for (const std::string& name : names) {
    words.push_back(name);
    collect(words, all);
    words.pop_back();
  }
}

}  // namespace

std::string HelpedCommand::path() const {
  std::string path = "sweetspot";
  for (const std::string& word : words) path += " " + word;
  return path;
}

std::vector<HelpedCommand> commands_of_help() {
  std::vector<HelpedCommand> all;
  collect({}, all);
  return all;
}

}  // namespace sweetspot::tests
