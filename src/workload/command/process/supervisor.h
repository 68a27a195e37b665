#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/process.h"

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

// Our side of a supervisor: what it has told us, and what we tell it.
class SupervisorLink {
 public:
  explicit SupervisorLink(
      Charge charge);  // appoints it, and waits for the program to start or fail
  ~SupervisorLink();   // dismisses it
  SupervisorLink(const SupervisorLink&) = delete;
  SupervisorLink& operator=(const SupervisorLink&) = delete;

  pid_t pid() const { return pid_; }
  int descriptor() const { return control_.number(); }  // readable when it has something to tell
  const Word& start() const { return start_; }
  const std::optional<int>& main_status() const { return main_status_; }
  bool gone() const { return gone_; }  // the whole tree is
  bool lost() const { return lost_; }  // somebody killed the supervisor
  double cpu_seconds() const { return cpu_seconds_; }

  void listen();  // takes in what it has told since, without blocking
  // The same, and looks whether it lives: a socket that a forked process of somebody else's holds
  // open does not end with the supervisor.
  void look();
  void order_kill() const;
  void dismiss();  // it kills what is left of the tree, if anything; waits for it to end
  void abandon() { abandoned_ = true; }  // do not wait for it: the tree cannot be killed

 private:
  void hear(const Word& word);
  void lose();

  Descriptor control_;
  pid_t pid_ = -1;
  Word start_;
  std::optional<int> main_status_;
  bool gone_ = false, lost_ = false, abandoned_ = false;
  double cpu_seconds_ = 0;
};

// Throws the sentence for a program that could not be started.
[[noreturn]] void refuse(const Launch& launch, const Word& word);

}  // namespace sweetspot::workload::command::process
