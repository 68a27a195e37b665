#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/help/command_tree.h"
#include "cli/help/completion.h"
#include "cli/help/manual.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"
#include "report/forms.h"

// `sweetspot help COMMAND`: what COMMAND --help prints.

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

// The manual pages and completions that an installation has, written while it is built.
namespace {

namespace fs = std::filesystem;

void write_into_folder(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error)
    throw core::MachineError(fmt::format("cannot make {}: {}; name a folder that can be written",
                                         core::printable(file.parent_path().string()),
                                         error.message()));
  report::write_file(file, text);
}

int generate(const CLI::App& app, const fs::path& folder) {
  const Command program = command_tree(app);
  for (const auto& [name, text] : manual_pages(program, "sweetspot " SWEETSPOT_VERSION))
    write_into_folder(folder / "man" / name, text);
  write_into_folder(folder / "bash" / "sweetspot", bash_completion(program));
  write_into_folder(folder / "zsh" / "_sweetspot", zsh_completion(program));
  write_into_folder(folder / "fish" / "sweetspot.fish", fish_completion(program));
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("generate", "write the manual pages and completions into a folder");
  command->group("");  // hidden: the build runs it
  const auto folder = std::make_shared<std::string>();
  command->add_option("folder", *folder)->required();
  command->callback([&app, &chosen, folder] {
    chosen = [&app, folder](Output&) { return generate(app, *folder); };
  });
}

}  // namespace sweetspot::cli
