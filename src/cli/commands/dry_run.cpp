#include <fmt/format.h>

#include <sstream>

#include "cli/flags/command_flags.h"
#include "core/error.h"
#include "core/shell.h"
#include "core/text.h"
#include "workload/command/batch_destinations.h"
#include "workload/command/config_files.h"
#include "workload/command/libraries.h"
#include "workload/command/redact.h"
#include "workload/command/scratch.h"
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
         "that count steps or samples";
}

void add(std::string& text, const char* name, const std::string& words) {
  text += fmt::format("{:<10}{}\n", name, words);
}

void add_hook(std::string& text, const char* name, const std::optional<std::string>& hook,
              const trial::Setting& setting, const command::Configs& configs) {
  if (hook)
    add(text, name, core::printable(command::redacted(command::expand(*hook, setting, configs))));
}

// A private folder is made for each trial, and has another name each time.
std::string copy_words(const command::Template& one) {
  if (one.copy) return one.copy->string();
  return (std::filesystem::temp_directory_path() / "sweetspot-trial.XXXXXX" /
          command::template_name(one))
      .string();
}

command::Configs shown_configs(const command::Options& o) {
  command::Configs configs;
  for (const command::Template& one : o.templates) {
    configs.push_back({"{config}", copy_words(one)});
    configs.push_back({fmt::format("{{config:{}}}", command::template_name(one)), copy_words(one)});
  }
  return configs;
}

// What is written, and what in it is not the file's own.
std::string file_words(const command::Options& o, const command::Template& one,
                       const trial::Setting& setting) {
  std::string text;
  const auto detail = [&](const std::string& words) {
    text += fmt::format("{:<12}{}\n", "", core::printable(command::redacted(words)));
  };
  add(text, "write",
      fmt::format("{}, from {}, gone after the trial", core::printable(copy_words(one)),
                  core::printable(one.file.string())));
  const std::string filled = command::filled(o, one, setting);  // throws for what cannot be set
  const std::vector<command::Edit> edits = command::edits_of(o, one);
  for (const command::Edit& edit : edits)
    detail(fmt::format("{}={}", edit.key, command::expand(edit.value, setting)));
  if (!edits.empty()) return text;
  std::istringstream before(one.text), after(filled);
  std::string old, line;
  for (std::int64_t number = 1; std::getline(after, line); ++number)
    if (!std::getline(before, old) || old != line)
      detail(fmt::format("line {}: {}", number, core::trimmed(line)));
  return text;
}

std::string scratch_words(const command::Options& o, const trial::Setting& setting) {
  if (!o.scratch)
    return "the program's checkpoints, logs and caches are written as always; --scratch throws "
           "away what it writes in its folder";
  const auto folder = command::trial_folder(o, setting).value_or(".");
  return (command::Scratch::can_overlay(folder) ? "" : copied_words() + "; ") +
         "what it writes in its folder is thrown away; what it writes elsewhere stays";
}

}  // namespace

std::string copied_words() {
  return "each trial runs in a copy of what git lists (of all, without git), since this system "
         "allows no overlay";
}

std::string dry_run_text(const CommandFlags& flags, const trial::Setting& setting) {
  const command::Options& o = flags.options;
  check_kind(flags);
  if (!flags.given())
    throw core::InputError("--dry-run shows the program behind --, and there is none");
  command::check(o);
  const command::Configs configs = shown_configs(o);
  std::string text;
  add_hook(text, "setup", o.setup, setting, configs);
  for (const command::Template& one : o.templates) text += file_words(o, one, setting);
  add_hook(text, "prepare", o.prepare, setting, configs);
  add(text, "run", core::shell_line(command::redacted(command::command_line(o, setting, configs))));
  if (const auto folder = command::trial_folder(o, setting))
    add(text, "in", core::printable(folder->string()));
  for (const auto& [name, value] :
       command::redacted(command::trial_environment(o, setting, configs)))
    add(text, "with", fmt::format("{}={}", core::printable(name), core::printable(value)));
  add_hook(text, "conclude", o.conclude, setting, configs);
  add_hook(text, "cleanup", o.cleanup, setting, configs);
  add(text, "batch", "goes " + command::batch_destinations_words(o));
  add(text, "writes", scratch_words(o, setting));
  for (const command::Library& seen : command::libraries_seen(o))
    add(text, "consider", command::suggestion(seen));
  add(text, "steps", steps_words(o));
  add(text, "given up", fmt::format("after {} without a step", core::format_duration(o.timeout)));
  return text;
}

}  // namespace sweetspot::cli
