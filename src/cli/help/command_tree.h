#pragma once
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sweetspot::cli {

// What the parser knows of a command, as plain values: manual pages, completions and suggestions
// are made of it, so that none of them can lag behind the flags.
struct Flag {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its one name
  std::string type;                // "FILE"; empty: it takes no value
  std::string help;
  std::string standard;  // what it is unless told otherwise; may be empty
  std::string group;
  bool required = false;

  std::string long_name() const { return names.back(); }
  bool takes_file() const;  // or a folder
};

struct Command {
  std::string path;  // "sweetspot data fetch"
  std::string help;
  std::string examples;  // as its help shows them
  std::vector<Flag> flags, positionals;
  std::vector<Command> commands;  // below it

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

// Of everything that is not hidden.
Command command_tree(const CLI::App& app);

// The name that was probably meant by `word`, which nobody knows: one that differs in few letters,
// or the only one that begins with it.
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& names);

// For a stray argument of `command`: one of its flags, or of the commands below it.
std::optional<std::string> suggestion(const Command& command, const std::string& stray);

}  // namespace sweetspot::cli
