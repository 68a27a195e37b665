#include "cli/flags/command_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "workload/command/config_files.h"

namespace sweetspot::cli {
namespace {

using workload::command::Terminal;

void hook_flag(CLI::App& app, const std::string& flag, std::optional<std::string>& target,
               const std::string& help) {
  app.add_option(flag, target, help)->type_name("CMD");
}

void duration_flag(CLI::App& app, const std::string& flag, core::Seconds& target,
                   const std::string& help) {
  text_flag(app, flag, "TIME", help, [=, &target](const std::string& text) {
    target = core::parse_duration(text, flag);
  })->default_str(core::format_duration(target));
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

}  // namespace

void add_command_flags(CLI::App& app, CommandFlags& flags) {
  workload::command::Options& o = flags.options;
  const std::vector<CLI::Option*> before = app.get_options();
  app.add_flag("--shell", o.shell, "run the program through /bin/sh -c");
  app.add_flag("--batch-from-env", o.batch_from_environment,
               "the program takes its batch from SWEETSPOT_BATCH or from a client's session");
  app.add_flag("--batch-arrives", o.batch_arrives,
               "the program does use its batch: do not ask, though nothing shows it");
  text_flag(app, "--gpus", "N",
            "GPUs, or processes, that the program trains on together: what {gpus} stands for "
            "[those it may see]",
            [&o](const std::string& text) {
              o.gpus = static_cast<int>(core::parse_whole(text, "--gpus", 1, 1 << 16));
            });
  text_flag(app, "--batch-is", "WHOSE",
            "on several GPUs, the batch that the program takes is that of each, per-gpu, or of all "
            "together, global",
            [&o](const std::string& word) {
              o.batch_is = index_of(word, {"per-gpu", "global"}, "--batch-is") == 0
                               ? trial::BatchIs::per_gpu
                               : trial::BatchIs::global;
            });
  text_flag(app, "--steps-regex", "REGEX",
            "finds the steps in what the program prints: group 1 counts weight updates, a group "
            "named samples counts samples; no group: each match is an update",
            [&o](const std::string& text) { o.steps_regex = text; });
  text_flag(app, "--metric-regex", "REGEX",
            "for an accuracy or a loss: finds it in what the program prints of its test data; its "
            "group is the value [val_accuracy: 0.98, Test loss 0.05, and the like]",
            [&o](const std::string& text) { o.metric_regex = text; });
  text_flag(app, "--samples-per-run", "N",
            "no steps to be seen: time whole runs of so many samples",
            [&o](const std::string& text) {
              o.samples_per_run = core::parse_whole(text, "--samples-per-run", 1);
            });
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
         "give each trial a copy of this file, with {batch} and the like filled in: its path is "
         "{config} (of several files {config:NAME}), or COPY where that is named; may be repeated")
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
  app.add_flag("--scratch", o.scratch,
               "run each trial in a throwaway copy of its folder: what it writes there is gone "
               "afterwards");
  duration_flag(app, "--timeout", o.timeout, "without a step, before a trial is given up");
  duration_flag(app, "--hook-timeout", o.hook_timeout, "for each of these commands to end");
  duration_flag(app, "--grace", o.grace, "between SIGTERM and SIGKILL");
  text_flag(
      app, "--terminal", "WHEN", "give the program a terminal: auto, yes, no",
      [&o](const std::string& word) {
        o.terminal = static_cast<Terminal>(index_of(word, {"auto", "yes", "no"}, "--terminal"));
      })
      ->default_str("auto");
  text_flag(app, "--attach", "FD",
            "measure the program that started this one, over its end of a socket; what stands "
            "behind -- is only its name (docs/protocol.md)",
            [&o](const std::string& text) {
              o.caller = static_cast<int>(core::parse_whole(text, "--attach", 3, 1 << 20));
            });
  app.add_flag("--dry-run", flags.dry_run, "show what would be run, and run nothing");
  for (CLI::Option* option : app.get_options())
    if (std::find(before.begin(), before.end(), option) == before.end()) {
      option->group("For a program behind --");
      flags.command_only.push_back(option);
    }
}

void check_kind(const CommandFlags& flags) {
  if (flags.given())
    refuse(flags.native_only,
           "is for models that sweetspot trains itself; leave it out, or put it behind -- with the "
           "program's own arguments");
  else
    refuse(flags.command_only,
           "is for a training program; put that behind --, as in: sweetspot tune -- python "
           "train.py --batch-size {batch}");
}

}  // namespace sweetspot::cli
