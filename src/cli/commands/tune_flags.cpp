#include "cli/commands/tune_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/variants.h"
#include "core/error.h"
#include "core/number.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

std::int64_t confirmed_steps(const std::string& text) {
  constexpr std::int64_t most_steps = 1'000'000'000;
  try {
    return core::parse_whole(text, "--confirm", 1, most_steps);
  } catch (const core::InputError& error) {
    throw core::InputError(fmt::format("{}, or epoch", error.what()));
  }
}

}  // namespace

void check_objective(const TuneFlags& flags) {
  if (flags.objective == search::Objective::energy) {
    if (flags.tolerance->count() > 0)
      throw core::InputError(
          "--for energy has no --tolerance: --slower-at-most says what it may cost in time");
    return;
  }
  if (flags.slower_at_most)
    throw core::InputError(
        "--slower-at-most says what saving energy may cost; add --for energy, or use --tolerance");
  if (flags.study.tried.contains(power_limits_key))
    throw core::InputError("less power is never faster; add --for energy to --power-limits");
}

void check_global_batch(const TuneFlags& flags) {
  if (!flags.global_batch) return;
  if (flags.objective == search::Objective::max_batch)
    throw core::InputError(
        "--global-batch keeps the batch, so there is no largest one to find; leave out --for "
        "max-batch, or --global-batch");
  if (flags.study.native.options.accumulation != 1)
    throw core::InputError(
        "--global-batch chooses the accumulation itself; leave out --accumulation");
  const auto found = workload::command::used(flags.study.command.options);
  if (flags.study.command.given() &&
      !(found.contains("{accumulation}") && found.contains("{micro_batch}")) &&
      !flags.study.command.options.batch_from_environment)
    throw core::InputError(
        "--global-batch needs {micro_batch} and {accumulation} in the program's arguments, "
        "variables or templates");
}

void check_target(const TuneFlags& flags) {
  if (!flags.target.target) return;
  if (flags.global_batch || flags.confirm)
    throw core::InputError(
        "a target is reached by whole training runs; leave out --global-batch and --confirm");
  if (flags.cluster.given())
    throw core::InputError("a target is reached on this machine; leave out --cluster");
  if (!flags.study.native.options.evaluate)
    throw core::InputError("a target is measured on the test split; leave out --no-eval");
}

// Flags of the search do not apply to branches from a checkpoint.
void check_critical_batch(const CLI::App& command) {
  for (const char* flag : {"--for", "--slower-at-most", "--precisions", "--multiple-of", "--repeat",
                           "--global-batch", "--confirm", "--seeds", "--finalists", "--most-epochs",
                           "--lr-batch", "--lr-check", "--power-limits", "--precision-of-estimate",
                           "--plot", "--export-csv", "--export-markdown", "--cluster", "--dry-run"})
    if (command.count(flag) > 0)
      throw core::InputError(
          fmt::format("--critical-batch compares short training branches and takes no {}; leave "
                      "one of the two out",
                      flag));
}

void add_tune_flags(CLI::App& command, const std::shared_ptr<TuneFlags>& flags) {
  using search::Objective;
  text_flag(
      command, "--for", "GOAL",
      "throughput: the smallest batch that is about as fast as any; max-batch: the largest that "
      "fits; energy: the least per sample; accuracy=0.99 or loss=0.1: the batch that reaches it "
      "first; energy-to-accuracy=0.99: with the least energy",
      [flags](const std::string& word) {
        if (read_target(word, flags->target)) {
          flags->objective = flags->target.for_energy ? Objective::energy : Objective::throughput;
          return;
        }
        flags->objective = static_cast<Objective>(
            index_of(word,
                     {"throughput", "max-batch", "energy", "accuracy=0.99", "loss=0.1",
                      "energy-to-accuracy=0.99"},  // the last three were read above
                     "--for"));
      })
      ->default_str("throughput");
  text_flag(command, "--slower-at-most", "SHARE",
            "for energy: how much slower than the fastest the answer may be [10%]",
            [flags](const std::string& text) {
              flags->slower_at_most = core::parse_share(text, "--slower-at-most", 0.9);
            });
  text_flag(command, "--precisions", "NAMES",
            "search each of these, and compare: for native models on a GPU, or for a program with "
            "{precision}, such as fp32,bf16",
            [flags](const std::string& text) { read_precisions(text, flags->study); });
  text_flag(command, "--min", "N", "the smallest batch to try", [flags](const std::string& text) {
    flags->min = core::parse_whole(text, "--min", 1, most_batch);
    flags->critical.least = flags->min;
  })->default_str(std::to_string(flags->min));
  text_flag(command, "--max", "N", "the largest batch to try [the data set's size]",
            [flags](const std::string& text) {
              flags->max = core::parse_whole(text, "--max", 1, most_batch);
              flags->critical.most = flags->max;
            });
  whole_flag(command, "--multiple-of", flags->multiple_of, {1, most_batch},
             "try only multiples of this");
  text_flag(command, "--repeat", "N",
            "for a program: passes over all batches that matter, every other one in reverse [a "
            "batch runs twice only if the answer depends on it]",
            [flags](const std::string& text) {
              flags->repeat = core::parse_whole(text, "--repeat", 1, 100);
            });
  text_flag(command, "--global-batch", "N",
            "keep this batch, and find its micro-batch and accumulation",
            [flags](const std::string& text) {
              flags->global_batch = core::parse_whole(text, "--global-batch", 1, most_batch);
            });
  text_flag(command, "--confirm", "STEPS",
            "run the answer for this many steps, or for an epoch (epoch), and step down if it "
            "exceeds the memory limit or fails",
            [flags](const std::string& text) {
              flags->confirm.emplace();
              if (text != "epoch") flags->confirm->steps = confirmed_steps(text);
            });
  add_target_flags(command, flags->target);
  add_critical_batch_flags(command, flags->critical);
  command.add_flag("--no-report", flags->no_report,
                   "do not write the HTML report next to the store");
  add_learning_rate_flags(command, flags->learning_rate);
  add_study_flags(command, flags->study);
  add_either_workload_flags(command, flags->study);
  add_cluster_flags(command, flags->cluster);
  add_plan_flags(command, flags->plan);
  add_rank_flags(command, flags->ranks);
  flags->tolerance = command.get_option("--tolerance");
}

}  // namespace sweetspot::cli
