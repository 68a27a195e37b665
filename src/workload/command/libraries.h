#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/options.h"

namespace sweetspot::workload::command {

// A library whose habits are a nuisance in trials, and the variable that ends them. It is suggested
// and never set: the user's program is the user's.
struct Library {
  std::string_view name, variable, value, habit;
};

// Those that the program's scripts import: the scripts among its arguments, modules behind -m, and
// the Python files that a shell script names. Not where the variable is set already.
std::vector<Library> libraries_seen(const Options& options);
// Those whose lines are in its output.
std::vector<Library> libraries_in_output(std::string_view output, const Options& options);

// "wandb opens a run for each trial (--env WANDB_MODE=disabled prevents it)".
std::string suggestion(const Library& library);

}  // namespace sweetspot::workload::command
