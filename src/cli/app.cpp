#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/help/about.h"
#include "cli/help/command_tree.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"

namespace sweetspot::cli {
namespace {

constexpr const char* examples = R"(
Examples:
  sweetspot tune                                    the batch size for the paper's CNN on MNIST
  sweetspot tune -- python train.py --batch-size {batch}   for any training program
  sweetspot tune --for max-batch --memory-limit 4GiB  the largest that fits
  sweetspot sweep --batch 16..4096*2 --repeat 3     every point of a grid
  sweetspot report                                  the newest study as an HTML report
  sweetspot serve                                   the studies as a live page in the browser
  sweetspot paper --quick                           the paper's experiment, with a verdict on each claim
  sweetspot train                                   the paper's CNN on MNIST, batch 100
  sweetspot train --batch 256 --epochs 10 --json    the result as JSON on stdout
  sweetspot train --model my.json --data folder     a Keras model, any IDX data set
  sweetspot memory --batch 16..4096*2 --limit 4GiB  what each batch takes, and the largest that fits
  sweetspot profile --batch 32,256 --trace t.json   where a step's time goes
  sweetspot model show paper-cnn                    layers, parameters, FLOPs
  sweetspot fill config.yaml --set train.batch=64    a configuration with another batch, on stdout
  sweetspot data fetch mnist                        download the data set into the cache
  sweetspot monitor                                 what GPUs and host are doing now
  sweetspot doctor                                  what this machine has
)";

void say_error(std::string_view sentence) { Output::talk(fmt::format("sweetspot: {}", sentence)); }

int run_chosen(const Action& action) {
  Output output;
  const int code = action(output);
  output.finish();
  return code;
}

// The innermost command in the arguments.
Command chosen_command(const CLI::App& app) {
  Command command = command_tree(app);
  const CLI::App* parsed = &app;
  while (!parsed->get_subcommands().empty()) {
    parsed = parsed->get_subcommands().front();
    const auto below = std::ranges::find(command.commands, parsed->get_name(), &Command::name);
    if (below == command.commands.end()) break;  // a hidden one
    command = Command(*below);
  }
  return command;
}

std::string about_stray(const Command& command, const std::string& stray) {
  std::string hint;
  if (const auto meant = suggestion(command, stray))
    hint = fmt::format(" (did you mean {}?)", *meant);
  else if (!stray.starts_with('-') && command.commands.empty())
    hint = " (a training program goes after --)";
  return fmt::format("'{}' is not expected here{}", stray, hint);
}

int parse_and_run(CLI::App& app, std::vector<std::string> arguments, Action& chosen) {
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    chosen = [&](Output& output) { return output.print(app.help()), 0; };
  } catch (const CLI::CallForVersion& version) {
    chosen = [&](Output& output) { return output.print(fmt::format("{}\n", version.what())), 0; };
    return run_chosen(chosen);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> strays = app.remaining(true);
    const Command command = chosen_command(app);
    std::string sentence = strays.empty() ? error.what() : about_stray(command, strays.front());
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    throw core::InputError(
        fmt::format("{}; see {} --help", core::printable(sentence), command.path));
  }
  return run_chosen(chosen);
}

// Removes what follows the first "--" from the arguments: a program and its own arguments, which
// our parser must not touch.
std::vector<std::string> split_program(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return {};
  if (arguments.front() != "tune" && arguments.front() != "sweep")
    throw core::InputError("only tune and sweep take a program after --; see sweetspot --help");
  std::vector<std::string> program(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  if (program.empty() || program.front().empty())
    throw core::InputError(
        "there is no program after --; write for example: sweetspot tune -- python train.py "
        "--batch-size {batch}");
  return program;
}

int parse_and_run(std::vector<std::string> arguments) {
  const std::vector<std::string> given = arguments;
  const std::vector<std::string> program = split_program(arguments);
  CLI::App app{"sweetspot: which batch size to train with on this machine, and why", "sweetspot"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text(), "the version, and what it was built with");
  app.add_flag_callback(
      "--licenses", [] { throw CLI::CallForVersion(licenses_text(), 0); },
      "the licence, and those of everything linked or embedded");
  Action chosen;
  add_tune(app, chosen, program, given);
  add_sweep(app, chosen, program, given);
  add_paper(app, chosen, given);
  add_studies(app, chosen);
  add_report(app, chosen);
  add_serve(app, chosen);
  add_train(app, chosen, given);
  add_memory(app, chosen);
  add_profile(app, chosen, given);
  add_model(app, chosen);
  add_fill(app, chosen);
  add_data(app, chosen);
  add_link(app, chosen, given);
  add_monitor(app, chosen);
  add_doctor(app, chosen);
  add_help(app, chosen);
  add_power_guard(app, chosen);
  add_generate(app, chosen);
  app.footer(examples);  // last: commands would inherit it
  return parse_and_run(app, std::move(arguments), chosen);
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  try {
    return parse_and_run(arguments);
  } catch (const core::Error& error) {
    if (*error.what()) say_error(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    say_error("the machine has no memory left; use a smaller batch, model or data set");
  } catch (const std::exception& error) {
    say_error(fmt::format("internal error ({}); please report it with the command you ran",
                          error.what()));
  }
  return 1;
}

}  // namespace sweetspot::cli
