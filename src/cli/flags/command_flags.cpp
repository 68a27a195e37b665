#include "cli/flags/command_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/flags/flags.h"
#include "core/error.h"
#include "core/number.h"
#include "core/shell.h"
#include "core/text.h"
#include "workload/command/config_files.h"
#include "workload/command/libraries.h"
#include "workload/command/options.h"
#include "workload/command/redact.h"
#include "workload/command/scratch.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

using workload::command::Terminal;

void hook_flag(CLI::App& app, const std::string& flag, std::optional<std::string>& target,
               const std::string& help) {
  app.add_option(flag, target, help)->type_name("CMD");
}

// As one would write it: "2m", "5s".
std::string flag_text(core::Seconds whole) {
  const auto seconds = static_cast<std::int64_t>(whole.count());
  return seconds % 60 == 0 ? fmt::format("{}m", seconds / 60) : fmt::format("{}s", seconds);
}

void duration_flag(CLI::App& app, const std::string& flag, core::Seconds& target,
                   const std::string& help) {
  text_flag(app, flag, "TIME", help, [=, &target](const std::string& text) {
    target = core::parse_duration(text, flag);
  })->default_str(flag_text(target));
}

std::pair<std::string, std::string> parse_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw core::InputError(fmt::format("--env '{}' has no value; write NAME=VALUE",
                                       core::printable(text.substr(0, equals))));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void refuse(const std::vector<const CLI::Option*>& options, const std::string& why) {
  for (const CLI::Option* option : options)
    if (option->count() > 0) throw core::InputError(fmt::format("{} {}", option->get_name(), why));
}

// How the program gets its batch.
void add_batch_flags(CLI::App& app, workload::command::Options& o) {
  app.add_flag("--shell", o.shell, "run the program through /bin/sh -c");
  app.add_flag("--batch-from-env", o.batch_from_environment,
               "the program gets its batch from SWEETSPOT_BATCH or from a client's session");
  app.add_flag("--batch-arrives", o.batch_arrives,
               "assert that the program uses its batch, even if nothing shows it");
  text_flag(app, "--gpus", "N",
            "GPUs, or processes, that the program trains on together: the value of {gpus} [those "
            "visible to it]",
            [&o](const std::string& text) {
              o.gpus = static_cast<int>(core::parse_whole(text, "--gpus", 1, 1 << 16));
            });
  text_flag(
      app, "--batch-is", "WHOSE",
      "what the program's batch refers to on several GPUs: per-gpu, or global for all together",
      [&o](const std::string& word) {
        o.batch_is = index_of(word, {"per-gpu", "global"}, "--batch-is") == 0
                         ? trial::BatchIs::per_gpu
                         : trial::BatchIs::global;
      });
}

// What its output shows.
void add_output_flags(CLI::App& app, workload::command::Options& o) {
  text_flag(app, "--steps-regex", "REGEX",
            "finds the steps in the program's output: group 1 counts weight updates, a group named "
            "samples counts samples; no group: each match is an update",
            [&o](const std::string& text) { o.steps_regex = text; });
  text_flag(app, "--metric-regex", "REGEX",
            "for an accuracy or a loss: finds the test metric in the program's output; its group "
            "is the value [val_accuracy: 0.98, Test loss 0.05, and similar]",
            [&o](const std::string& text) { o.metric_regex = text; });
  text_flag(app, "--samples-per-run", "N",
            "if no steps are visible: time whole runs of this many samples",
            [&o](const std::string& text) {
              o.samples_per_run = core::parse_whole(text, "--samples-per-run", 1);
            });
}

// What surrounds a trial.
void add_surroundings_flags(CLI::App& app, workload::command::Options& o) {
  hook_flag(app, "--setup", o.setup, "run once before all trials");
  hook_flag(app, "--prepare", o.prepare, "run before each trial");
  hook_flag(app, "--conclude", o.conclude, "run after each trial");
  hook_flag(app, "--cleanup", o.cleanup, "run once after all trials");
  app.add_option_function<std::vector<std::string>>(
         "--env",
         [&o](const std::vector<std::string>& variables) {
           for (const std::string& text : variables) o.environment.push_back(parse_variable(text));
         },
         "set a variable for the program; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option_function<std::vector<std::string>>(
         "--template",
         [&o](const std::vector<std::string>& files) {
           for (const std::string& text : files)
             o.templates.push_back(workload::command::read_template(text));
         },
         "give each trial a copy of this file, with {batch} and other placeholders filled in: its "
         "path is {config} (with several files {config:NAME}), or COPY if given; may be repeated")
      ->type_name("FILE[:COPY]")
      ->expected(1)
      ->take_all();
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [&o](const std::vector<std::string>& edits) {
           for (const std::string& text : edits)
             o.edits.push_back(workload::command::parse_edit(text));
         },
         "set a key of a template in YAML, JSON or TOML, such as train.batch_size={batch}, and "
         "leave the rest of the file as it is; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--cwd", o.folder, "run the program in this folder")->type_name("DIR");
  app.add_flag("--scratch", o.scratch, "run each trial in a throw-away copy of its folder");
}

// How it is supervised.
void add_supervision_flags(CLI::App& app, workload::command::Options& o) {
  duration_flag(app, "--timeout", o.timeout, "longest time without a step");
  duration_flag(app, "--hook-timeout", o.hook_timeout,
                "time limit of each of the four commands above");
  duration_flag(app, "--grace", o.grace, "between SIGTERM and SIGKILL");
  text_flag(
      app, "--terminal", "WHEN", "run the program on a terminal: auto, yes, no",
      [&o](const std::string& word) {
        o.terminal = static_cast<Terminal>(index_of(word, {"auto", "yes", "no"}, "--terminal"));
      })
      ->default_str("auto");
  text_flag(app, "--attach", "FD",
            "measure the program that started this one, over a socket; the text after -- is only "
            "its name (docs/protocol.md)",
            [&o](const std::string& text) {
              o.caller = static_cast<int>(core::parse_whole(text, "--attach", 3, 1 << 20));
            });
}

}  // namespace

void add_command_flags(CLI::App& app, CommandFlags& flags) {
  const std::vector<CLI::Option*> before = app.get_options();
  add_batch_flags(app, flags.options);
  add_output_flags(app, flags.options);
  add_surroundings_flags(app, flags.options);
  add_supervision_flags(app, flags.options);
  app.add_flag("--dry-run", flags.dry_run, "show what would be run, and run nothing");
  for (CLI::Option* option : app.get_options())
    if (std::find(before.begin(), before.end(), option) == before.end()) {
      option->group("For a program after --");
      flags.command_only.push_back(option);
    }
}

void check_kind(const CommandFlags& flags) {
  if (flags.given())
    refuse(flags.native_only,
           "is for models that sweetspot trains itself; leave it out, or put it after -- with the "
           "program's own arguments");
  else
    refuse(flags.command_only,
           "is for a training program; put that after --, as in: sweetspot tune -- python "
           "train.py --batch-size {batch}");
}

namespace {

namespace command = workload::command;
namespace fs = std::filesystem;
using Written = report::CommandPart::Form;

// Without secrets, but with its placeholders: numbers are not secrets, and a placeholder does not
// look like one, so it is filled before the decision.
std::vector<std::string> clean(const std::vector<std::string>& words) {
  const std::vector<std::string> shown = command::expand(words, {});
  std::vector<std::string> safe = command::redacted(shown);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (safe[i] == shown[i]) safe[i] = words[i];
  return safe;
}

void then(report::Command& line) { line.push_back({{"&&"}, {}, Written::shell}); }

// The path of the filled copy after the tune: where the program looks for it, or next to the file,
// so that its relative paths work.
fs::path copy_path(const command::Options& o, const command::Template& one) {
  if (one.copy) return o.folder ? *o.folder / *one.copy : *one.copy;
  return one.file.parent_path() / fmt::format("{}.batch-{{batch}}{}", one.file.stem().string(),
                                              one.file.extension().string());
}

// sweetspot fill, as cli/fill.cpp takes it.
void push_fill(report::Command& line, const command::Options& o, const command::Template& one) {
  line.push_back({{"sweetspot", "fill", one.file.string()}});
  const std::vector<command::Edit> edits = command::edits_of(o, one);
  for (const command::Edit& edit : edits) {
    line.push_back({{"--set"}});
    line.push_back({clean({edit.key + "=" + edit.value})});
  }
  if (edits.empty()) {
    const command::Placeholders has = command::used({one.text});
    const bool has_micro_batch = has.contains("{micro_batch}");
    if (has.contains("{batch}") || has_micro_batch) line.push_back({{"--batch", "{batch}"}});
    if (has.contains("{accumulation}") || has_micro_batch)
      line.push_back({{"--accumulation", "{accumulation}"}, {"--accumulation", "1"}});
    for (const std::string& each : has)
      if (each != "{batch}" && each != "{micro_batch}" && each != "{accumulation}")
        line.push_back({{"--" + each.substr(1, each.size() - 2), each}});
  }
  const fs::path copy = copy_path(o, one);
  if (copy.lexically_normal() == one.file.lexically_normal())
    line.push_back({{"--in-place"}});
  else
    line.push_back({{"--output", copy.string()}});
  then(line);
}

command::Configs configs_of(const command::Options& o) {
  command::Configs configs;
  for (const command::Template& one : o.templates) {
    const fs::path beside =
        o.folder ? fs::absolute(copy_path(o, one)).lexically_relative(fs::absolute(*o.folder))
                 : copy_path(o, one);
    const std::string path = one.copy.value_or(beside).string();
    configs.push_back({"{config}", path});
    configs.push_back({fmt::format("{{config:{}}}", command::template_name(one)), path});
  }
  return configs;
}

}  // namespace

report::Command program_command(const CommandFlags& flags) {
  const command::Options& o = flags.options;
  const command::Configs configs = configs_of(o);
  const auto with_configs = [&](const std::string& text) { return core::filled(text, configs); };
  report::Command line;
  for (const command::Template& one : o.templates) push_fill(line, o, one);
  if (o.folder) {
    line.push_back({{"cd", o.folder->string()}});
    then(line);
  }
  // A hook without a placeholder is omitted: its effect is there by now.
  if (o.prepare &&
      (!command::used({*o.prepare}).empty() || with_configs(*o.prepare) != *o.prepare)) {
    line.push_back({{"sh", "-c"}});
    line.push_back({clean({with_configs(*o.prepare)})});
    then(line);
  }
  std::vector<std::string> variables;
  if (command::reads_batch_variable(o)) variables.push_back("SWEETSPOT_BATCH={batch}");
  for (const auto& [name, value] : command::redacted(o.environment))
    variables.push_back(name + "=" + with_configs(value));
  if (!variables.empty()) line.push_back({variables, {}, Written::assignments});
  std::vector<std::string> argv;
  for (const std::string& word : o.argv) argv.push_back(with_configs(word));
  argv = clean(argv);
  if (!o.shell) {
    for (const std::string& word : argv) line.push_back({{word}});
  } else {
    const std::string script = fmt::format("{}", fmt::join(argv, " "));
    if (variables.empty())
      line.push_back({{script}, {}, Written::shell});
    else  // a variable before it would reach only the first command
      line.push_back({{"sh", "-c", script}});
  }
  return line;
}

namespace {

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

// A private folder is created for each trial, with a different name each time.
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

// What is written, and what in it differs from the file.
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
    throw core::InputError("--dry-run shows the program after --, and there is none");
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
  add(text, "batch", "goes " + core::joined(command::batch_destinations(o)));
  add(text, "writes", scratch_words(o, setting));
  for (const command::Library& seen : command::libraries_seen(o))
    add(text, "consider", command::suggestion(seen));
  add(text, "steps", steps_words(o));
  add(text, "given up", fmt::format("after {} without a step", core::format_duration(o.timeout)));
  return text;
}

}  // namespace sweetspot::cli
