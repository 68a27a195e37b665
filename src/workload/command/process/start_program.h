#pragma once
#include "workload/command/process/supervisor.h"

namespace sweetspot::workload::command::process {

// In the supervisor: forks and executes the program and reports the result in `word`. Returns its
// process id, or -1. Makes only system calls.
pid_t start_program(const Charge& charge, Word& word);

// close_range(), or one by one if the kernel is too old for it.
void close_from_to(unsigned first, unsigned last);

}  // namespace sweetspot::workload::command::process
