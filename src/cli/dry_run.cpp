#include <fmt/format.h>

#include "cli/command_flags.h"
#include "cli/train_command.h"
#include "core/error.h"
#include "core/text.h"
#include "workload/command/redact.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

namespace command = workload::command;

std::string words_of(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + shell_word(word);
  return core::printable(text);
}

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

std::string shell_command(const CommandFlags& flags, const trial::Setting& setting) {
  const command::Placeholders placed = command::used(flags.options.argv);
  const std::string words =
      words_of(command::redacted(command::expand(flags.options.argv, setting)));
  if (placed.batch || placed.micro_batch) return words;
  return fmt::format("SWEETSPOT_BATCH={} {}", setting.batch, words);
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
                      words_of(command::redacted(command::command_line(o, setting))));
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
