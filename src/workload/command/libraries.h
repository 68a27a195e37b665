#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/options.h"

namespace sweetspot::workload::command {

// A library that gets in the way during trials, and the variable that stops it. It is suggested and
// never set: the program belongs to the user.
struct Library {
  std::string_view name, variable, value, habit;
};

// Those that the program's scripts import: the scripts among its arguments, modules after -m, and
// the Python files that a shell script names. Not if the variable is already set.
std::vector<Library> libraries_seen(const Options& options);
// Those whose lines are in its output.
std::vector<Library> libraries_in_output(std::string_view output, const Options& options);

// "wandb opens a run for each trial (--env WANDB_MODE=disabled prevents it)".
std::string suggestion(const Library& library);

}  // namespace sweetspot::workload::command
