#include <fmt/format.h>

#include "cli/command_flags.h"
#include "core/error.h"
#include "core/shell.h"
#include "core/text.h"
#include "workload/command/redact.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

namespace command = workload::command;

std::string steps_words(const command::Options& options) {
  const std::string client = "the client's, where the program uses it; else ";
  if (options.samples_per_run)
    return fmt::format("{}what it prints; else whole runs of {} samples", client,
                       *options.samples_per_run);
  if (options.steps_regex)
    return fmt::format("{}what matches '{}' in its output", client,
                       core::printable(*options.steps_regex));
  return client +
         "the progress bars of tqdm, Keras, Lightning, Hugging Face and Ultralytics, and log lines "
         "that count samples";
}

void add_hook(std::string& text, const char* name, const std::optional<std::string>& hook,
              const trial::Setting& setting) {
  if (hook)
    text += fmt::format("{:<10}{}\n", name,
                        core::printable(command::redacted(command::expand(*hook, setting))));
}

}  // namespace

report::Command program_command(const CommandFlags& flags) {
  const std::vector<std::string>& argv = flags.options.argv;
  // Numbers are no secrets, and a hole does not look like one: it is filled before the decision.
  const std::vector<std::string> shown = command::expand(argv, {});
  const std::vector<std::string> clean = command::redacted(shown);
  const command::Placeholders placed = command::used(argv);
  report::Command command;
  if (!placed.batch && !placed.micro_batch) command.push_back({{"SWEETSPOT_BATCH={batch}"}});
  for (std::size_t i = 0; i < argv.size(); ++i)
    command.push_back({{clean[i] == shown[i] ? argv[i] : clean[i]}});
  return command;
}

std::string dry_run_text(const CommandFlags& flags, const trial::Setting& setting) {
  const command::Options& o = flags.options;
  check_kind(flags);
  if (!flags.given())
    throw core::InputError("--dry-run shows the program behind --, and there is none");
  command::check(o);
  std::string text;
  add_hook(text, "setup", o.setup, setting);
  add_hook(text, "prepare", o.prepare, setting);
  text += fmt::format("{:<10}{}\n", "run",
                      core::shell_line(command::redacted(command::command_line(o, setting))));
  if (o.folder) text += fmt::format("{:<10}{}\n", "in", core::printable(o.folder->string()));
  for (const auto& [name, value] : command::redacted(command::trial_environment(o, setting)))
    text += fmt::format("{:<10}{}={}\n", "with", core::printable(name), core::printable(value));
  add_hook(text, "conclude", o.conclude, setting);
  add_hook(text, "cleanup", o.cleanup, setting);
  text += fmt::format("{:<10}{}\n", "steps", steps_words(o));
  text +=
      fmt::format("{:<10}after {} without a step\n", "given up", core::format_duration(o.timeout));
  return text;
}

}  // namespace sweetspot::cli
