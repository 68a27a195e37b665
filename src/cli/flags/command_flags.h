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

// The flags of a workload that is any other program: what stands behind "--", and how to run it.
struct CommandFlags {
  workload::command::Options options;
  bool dry_run = false;
  // Of ours alone or of the program's alone: the other kind is told so, not ignored.
  std::vector<const CLI::Option*> native_only, command_only;

  bool given() const { return !options.argv.empty(); }
};
void add_command_flags(CLI::App& app, CommandFlags& flags);

// InputError for a flag that says nothing about this kind of workload.
void check_kind(const CommandFlags& flags);

// What --dry-run prints, or InputError: the program as it would be run at this setting, where its
// steps would come from, and the commands around it.
std::string dry_run_text(const CommandFlags& flags, const trial::Setting& setting);
// Of --scratch where it has to copy.
std::string copied_words();
// The program as it is to be run at any setting; secrets are not in it.
report::Command program_command(const CommandFlags& flags);

}  // namespace sweetspot::cli
