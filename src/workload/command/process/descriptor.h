#pragma once
#include "core/descriptor.h"

namespace sweetspot::workload::command::process {

using core::Descriptor;

// Takes what a system call gave. Descriptors 0 to 2 are moved up, because a child's standard
// streams go there (we may have been started with ours closed). MachineError when the call failed.
Descriptor checked(int number, const char* what);

struct Pair {
  Descriptor read, write;
};
Pair make_pipe();
Pair make_sockets();  // of whole messages; either end reads and writes
Descriptor open_null();

}  // namespace sweetspot::workload::command::process
