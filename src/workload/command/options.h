#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "trial/gpus.h"
#include "trial/target.h"

namespace sweetspot::workload::command {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Output on a terminal of our own or on pipes. `automatic`: pipes, and once more on a terminal when
// the first run came to its end and no step was to be seen.
enum class Terminal { automatic, yes, no };

// A file of the user's of which each trial is given a filled copy; itself it is never changed. The
// program finds the copy at {config}, or where `copy` says, in the folder that it runs in.
struct Template {
  std::filesystem::path file;
  std::optional<std::filesystem::path> copy = {};
  std::string text = {};  // of the file when it was given: all trials are of the same
};

// What a key of a template is set to: "train.batch_size", "{batch}". A file that is edited by its
// keys is left alone otherwise; any other is filled wherever a placeholder stands in it.
struct Edit {
  std::string key, value;
};

// A training program and how to run it.
struct Options {
  std::vector<std::string> argv;  // with placeholders, see template.h
  bool shell = false;             // argv joined by spaces and given to /bin/sh -c
  // The program reads SWEETSPOT_BATCH itself, or asks for its batches in a session of the client:
  // its arguments need no {batch}.
  bool batch_from_environment = false;
  // The program runs already, called us, and speaks over this socket: argv is only its name.
  std::optional<int> caller;
  // How many GPUs, or processes that train together, and what a batch is of. A setting's batch is
  // always that of all of them: `handed` says what the program is given.
  std::optional<int> gpus;
  trial::BatchIs batch_is = trial::BatchIs::unsaid;
  int ranks_of_batch() const { return batch_is == trial::BatchIs::per_gpu ? gpus.value_or(1) : 1; }
  // The user says that the program uses its batch: nobody need look.
  bool batch_arrives = false;
  // Through /bin/sh -c: once before all trials, before each, after each, once after all. What a
  // hook leaves running is ended with it.
  std::optional<std::string> setup, prepare, conclude, cleanup;
  Environment environment;                      // added to our own; placeholders in the values
  std::optional<std::filesystem::path> folder;  // placeholders too
  std::vector<Template> templates;
  std::vector<Edit> edits;
  bool scratch = false;  // trials run in a copy of the folder that is thrown away, see workspace.h
  core::Seconds timeout{120};        // without a step, before the first one too
  core::Seconds grace{5};            // between SIGTERM and SIGKILL
  core::Seconds hook_timeout{1800};  // of each hook: one may fetch a data set
  std::optional<std::string> steps_regex;
  // What is read of its test data, and how; nothing: the metric is not looked for.
  std::optional<trial::Target::Metric> metric;
  std::optional<std::string> metric_regex;
  // Where no step can be seen the whole run is one of so many samples.
  std::optional<std::int64_t> samples_per_run;
  Terminal terminal = Terminal::automatic;
  // Of the whole process tree, where a cgroup can be made: of whatever it is, and of a program that
  // does not compute on GPUs, which is known of one that has run or where there are none.
  std::optional<core::Bytes> memory_limit, memory_limit_without_gpu;
  const std::atomic<int>* stop = nullptr;  // 2 or more: give up at once
  // Of all trials together, from the start of the first: the one it ends in is ended with it.
  std::optional<core::Seconds> budget;
};

// InputError for options that no setting can make work.
void check(const Options& options);

// Puts the number of GPUs where {gpus} stands in arguments, variables, hooks, folder and values of
// keys: as many as were asked for, else as the program may see. InputError where that is needed and
// not known.
void settle_gpus(Options& options);

// For people: the command as typed, shortened, without its secrets.
std::string title(const Options& options);

// What makes this workload the one it is, as JSON without secrets, for the study's key: command,
// scripts, environment, folder, and how its steps are found.
std::string identity_json(const Options& options);

// How the batch (or the micro-batch) is handed to the program, each way in words that go on from
// "the batch is handed over": "as argument 3, behind --batch-size", "in the environment variable
// BATCH_SIZE", "as train.batch_size in config.yaml". Empty where it is not.
std::vector<std::string> batch_destinations(const Options& options);
// The same as one text: "as argument 3 and in the environment variable BATCH_SIZE".
std::string batch_destinations_words(const Options& options);

// Whether the program, or the line that starts it, is known to read SWEETSPOT_BATCH.
bool reads_batch_variable(const Options& options);

// InputError when the program or its folder is not there: told once and at once, instead of by each
// trial. Says nothing where it cannot be known yet: a shell's line, or a hook that may make it.
void check_program_file(const Options& options);

}  // namespace sweetspot::workload::command
