#pragma once
#include "workload/command/options.h"

namespace sweetspot::workload::command {

// InputError when the program or its folder is not there: told once and at once, instead of by each
// trial. Says nothing where it cannot be known yet: a shell's line, or a hook that may make it.
void check_program_file(const Options& options);

}  // namespace sweetspot::workload::command
