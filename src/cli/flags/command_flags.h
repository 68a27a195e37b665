#pragma once
#include <string>
#include <vector>

#include "report/command.h"
#include "trial/trial.h"
#include "workload/command/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sweetspot::cli {

// The flags of a workload that is another program: what follows "--", and how to run it.
struct CommandFlags {
  workload::command::Options options;
  bool dry_run = false;
  // For native models only or for programs only: an error for the other kind, not ignored.
  std::vector<const CLI::Option*> native_only, command_only;

  bool given() const { return !options.argv.empty(); }
};
void add_command_flags(CLI::App& app, CommandFlags& flags);

// InputError for a flag that does not apply to this kind of workload.
void check_kind(const CommandFlags& flags);

// The text of --dry-run, or InputError: the program as it would be run at this setting, the source
// of its steps, and the hooks.
std::string dry_run_text(const CommandFlags& flags, const trial::Setting& setting);
// For --scratch if it has to copy.
std::string copied_words();
// The program's command at any setting, without secrets.
report::Command program_command(const CommandFlags& flags);

}  // namespace sweetspot::cli
