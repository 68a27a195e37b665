#pragma once
#include "workload/command/process/supervisor.h"

namespace sweetspot::workload::command::process {

// In the supervisor: forks and executes the program and says in `word` how that went. Gives its
// process id, or -1. Makes system calls and nothing else.
pid_t start_program(const Charge& charge, Word& word);

// close_range(), or one by one where the kernel is too old for it.
void close_from_to(unsigned first, unsigned last);

}  // namespace sweetspot::workload::command::process
