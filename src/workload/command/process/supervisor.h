#pragma once
#include <sys/types.h>

#include <cstdint>

namespace sweetspot::workload::command::process {

// The supervisor is a child of ours that starts the program and stays, as the subreaper of all that
// the program starts. So the tree is exactly what is below the supervisor: orphans come to it and
// to nobody else, wait4() in it can only meet the tree's processes, and "no child left" means that
// the tree is gone. Our own process reaps nothing but the supervisor, and so never takes another's
// child. When we die, by SIGKILL even, the supervisor kills what is left.
//
// It is forked and never executes anything, so it makes system calls and nothing else: no
// allocation, no lock.

// What it tells us.
struct Word {
  enum Kind : std::int32_t { started, failed, main_ended, gone } kind = started;
  enum Stage : std::int32_t { folder, program, fork } stage = program;  // that failed
  std::int32_t error = 0;                                               // errno of it
  std::int32_t status = 0;                                              // of the main process
  std::int32_t in_cgroup = 0;                                           // it could join its cgroup
  double cpu_seconds = 0;                                               // of all that was reaped
};
// What we tell it: kill everything. Its end of the socket reading nothing says the same.
constexpr char kill_order = 'k';

struct Charge {
  const char* const* candidates;  // paths to try, as execvp would
  char* const* argv;
  char* const* environment;
  const char* folder;         // or nullptr
  int input, output, errors;  // the program's standard streams
  int control;                // the supervisor's end of the socket
  int employer;               // a pidfd of our process, or -1
  int cgroup_procs;           // the file to join the cgroup by, or -1
  const char* cgroup_folder;  // removed by the supervisor when we are no longer there to do it
  char* const* remove;        // the command that removes what else is left then, or nullptr
  int user_namespace, mount_namespace;  // for the program to enter, or -1
};
// Forks the supervisor and gives its process id. MachineError when the system will not fork.
pid_t appoint(const Charge& charge);

}  // namespace sweetspot::workload::command::process
