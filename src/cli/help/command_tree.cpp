#include "cli/help/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/edit_distance.h"

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

namespace {

// Two swapped letters are two edits; in a short word that would match a different word.
std::size_t most_edits(const std::string& word) { return word.size() < 4 ? 1 : 2; }

}  // namespace

std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 64;  // of any name; a distance costs as much as the word is long
  if (word.empty() || word.size() > longest) return std::nullopt;
  const auto distance = [&](const std::string& name) { return core::edit_distance(word, name); };
  const auto best = std::ranges::min_element(names, {}, distance);
  if (best == names.end()) return std::nullopt;
  if (distance(*best) <= most_edits(word)) return *best;
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  if (std::ranges::count_if(names, begins) == 1) return *std::ranges::find_if(names, begins);
  return std::nullopt;
}

std::optional<std::string> suggestion(const Command& command, const std::string& stray) {
  std::vector<std::string> names;
  if (stray.starts_with("--")) {
    for (const Flag& flag : command.flags) names.push_back(flag.long_name());
    return nearest(stray.substr(0, stray.find('=')), names);
  }
  for (const Command& below : command.commands) names.push_back(below.name());
  return nearest(stray, names);
}

}  // namespace sweetspot::cli
