#pragma once
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sweetspot::cli {

// A command's definition as plain values: manual pages, completions and suggestions are generated
// from it, so that they cannot lag behind the flags.
struct Flag {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its one name
  std::string type;                // "FILE"; empty: it takes no value
  std::string help;
  std::string standard;  // its default; may be empty
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

// Everything that is not hidden.
Command command_tree(const CLI::App& app);

// The name that was probably meant by an unknown `word`: one that differs in few letters, or the
// only one that begins with it.
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& names);

// For a stray argument of `command`: one of its flags, or of its subcommands.
std::optional<std::string> suggestion(const Command& command, const std::string& stray);

}  // namespace sweetspot::cli
