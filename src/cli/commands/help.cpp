// `sweetspot help COMMAND`: what COMMAND --help prints.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/help/suggestion.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"

namespace sweetspot::cli {
namespace {

[[noreturn]] void fail_unknown(const CLI::App& app, const std::string& word) {
  const auto meant = suggestion(command_tree(app), word);
  throw core::InputError(
      fmt::format("there is no command '{}' to help with{}; see sweetspot --help",
                  core::printable(word), meant ? fmt::format(" (did you mean {}?)", *meant) : ""));
}

std::string help_of(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &program;
  std::string above;
  for (const std::string& word : words) {
    const auto found = app->get_subcommands(
        [&](const CLI::App* below) { return !word.empty() && below->check_name(word); });
    if (found.empty()) fail_unknown(*app, word);
    above += (above.empty() ? "" : " ") + app->get_name();
    app = found.front();
  }
  // Of the program itself without the command that was parsed, which is this one.
  return words.empty() ? program.get_formatter()->make_help(&program, program.get_name(),
                                                            CLI::AppFormatMode::Normal)
                       : app->help(above);
}

}  // namespace

void add_help(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("help", "the help of a command");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("command", *words, "such as tune, or studies list")->type_name("COMMAND");
  command->footer("\nExamples:\n  sweetspot help tune\n  sweetspot help studies list");
  command->callback([&app, &chosen, words] {
    chosen = [&app, words](Output& output) { return output.print(help_of(app, *words)), 0; };
  });
}

}  // namespace sweetspot::cli
