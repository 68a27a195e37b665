// The manual pages and completions that an installation has, written while it is built.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/help/completion.h"
#include "cli/help/manual.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"
#include "report/forms.h"

namespace sweetspot::cli {
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
