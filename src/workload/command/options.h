#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "trial/target.h"
#include "trial/trial.h"

namespace sweetspot::workload::command {

constexpr double look_up_seconds = 0.1;  // for a stop, and to sample memory

using Environment = std::vector<std::pair<std::string, std::string>>;

// Output on a pseudo-terminal or on pipes. `automatic`: pipes, and once more on a terminal if the
// first run ended without a visible step.
enum class Terminal { automatic, yes, no };

// A user's file of which each trial gets a filled copy; the file itself is never changed. The
// program finds the copy at {config}, or at `copy` in its working directory.
struct Template {
  std::filesystem::path file;
  std::optional<std::filesystem::path> copy = {};
  std::string text = {};  // at the time it was given: all trials use the same
};

// The value of a template's key: "train.batch_size", "{batch}". A file with edited keys is
// otherwise unchanged; any other is filled wherever a placeholder appears.
struct Edit {
  std::string key, value;
};

// A training program and how to run it.
struct Options {
  std::vector<std::string> argv;  // with placeholders, see template.h
  bool shell = false;             // argv joined by spaces and given to /bin/sh -c
  // The program reads SWEETSPOT_BATCH itself, or requests its batches in a session of the client:
  // its arguments need no {batch}.
  bool batch_from_environment = false;
  // The running program called us, and uses this socket: argv is only its name.
  std::optional<int> caller;
  // How many GPUs, or processes that train together, and what a batch refers to. A setting's batch
  // always covers all of them: `handed` gives what the program receives.
  std::optional<int> gpus;
  trial::BatchIs batch_is = trial::BatchIs::unsaid;
  int ranks_of_batch() const { return batch_is == trial::BatchIs::per_gpu ? gpus.value_or(1) : 1; }
  // The user asserts that the program uses its batch: no check is needed.
  bool batch_arrives = false;
  // Through /bin/sh -c: once before all trials, before each, after each, once after all. Processes
  // that a hook leaves running are ended with it.
  std::optional<std::string> setup, prepare, conclude, cleanup;
  Environment environment;                      // added to our own; placeholders in the values
  std::optional<std::filesystem::path> folder;  // placeholders too
  std::vector<Template> templates;
  std::vector<Edit> edits;
  bool scratch = false;        // trials run in a throw-away copy of the folder, see workspace.h
  core::Seconds timeout{120};  // without a step, including the first
  core::Seconds grace{5};      // between SIGTERM and SIGKILL
  core::Seconds hook_timeout{1800};  // of each hook: one may fetch a data set
  std::optional<std::string> steps_regex;
  // The metric to read, and how; nullopt: none.
  std::optional<trial::Target::Metric> metric;
  std::optional<std::string> metric_regex;
  // If no step is visible, the whole run is one of this many samples.
  std::optional<std::int64_t> samples_per_run;
  Terminal terminal = Terminal::automatic;
  // For the whole process tree, if a cgroup can be created: in any case, and for a program that
  // does not compute on GPUs, which is known once it has run or if there are none.
  std::optional<core::Bytes> memory_limit, memory_limit_without_gpu;
};

// A variable of the program's environment, with placeholders.
std::optional<std::string> variable(const Options& options, const std::string& name);

// InputError for options that no setting can make work.
void check(const Options& options);

// Replaces {gpus} in arguments, variables, hooks, folder and values of keys: by the requested
// number, else by the number visible to the program. InputError if it is needed and unknown.
void settle_gpus(Options& options);

// For users: the command as typed, shortened, without its secrets.
std::string title(const Options& options);

// What identifies this workload, as JSON without secrets, for the study key: command, scripts,
// environment, folder, and how its steps are found.
std::string identity_json(const Options& options);

// How the batch (or the micro-batch) is passed to the program, each way as a continuation of "the
// batch is handed over": "as argument 3, behind --batch-size", "in the environment variable
// BATCH_SIZE", "as train.batch_size in config.yaml". Empty if it is not.
std::vector<std::string> batch_destinations(const Options& options);

// Whether the program, or the line that starts it, is known to read SWEETSPOT_BATCH.
bool reads_batch_variable(const Options& options);

// InputError if the program or its folder does not exist: reported once, instead of by each trial.
// Does nothing if that cannot be known yet: a shell's line, or a hook that may create it.
void check_program_file(const Options& options);

}  // namespace sweetspot::workload::command
