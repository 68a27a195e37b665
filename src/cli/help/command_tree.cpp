#include "cli/help/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace sweetspot::cli {
namespace {

Flag flag_of(const CLI::Option& option) {
  Flag flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (flag.names.empty()) flag.names.push_back(option.get_name(true, false));
  if (option.get_items_expected_max() > 0) flag.type = option.get_type_name();
  flag.help = option.get_description();
  flag.standard = option.get_default_str();
  flag.group = option.get_group();
  flag.required = option.get_required();
  return flag;
}

void add_flags(const CLI::App& app, Command& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Flag flag = flag_of(*option);
    std::vector<Flag>& all = option->nonpositional() ? command.flags : command.positionals;
    if (std::ranges::find(all, flag.names, &Flag::names) == all.end())  // a group has --help, too
      all.push_back(std::move(flag));
  }
}

Command tree_of(const CLI::App& app, const std::string& above) {
  Command command{above + app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  add_flags(app, command);
  for (const CLI::App* below : app.get_subcommands({})) {
    if (below->get_group().empty()) continue;
    if (below->get_name().empty())  // a group of flags
      add_flags(*below, command);
    else
      command.commands.push_back(tree_of(*below, command.path + " "));
  }
  return command;
}

}  // namespace

bool Flag::takes_file() const {
  for (const char* kind : {"FILE", "DIR", "PATH"})
    if (type.find(kind) != std::string::npos) return true;
  return false;
}

Command command_tree(const CLI::App& app) { return tree_of(app, ""); }

}  // namespace sweetspot::cli
