#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/process.h"

namespace sweetspot::workload::command::process {

// The supervisor is a child of ours that starts the program and stays, as the subreaper of
// everything the program starts. So the tree is exactly what is below the supervisor: orphans are
// reparented to it and to nobody else, wait4() in it can only meet the tree's processes, and "no
// child left" means that the tree is gone. Our own process reaps only the supervisor, and so never
// takes another's child. When we die, even by SIGKILL, the supervisor kills what is left.
//
// It is forked and never executes anything, so it makes only system calls: no allocation, no lock.

// Its messages to us.
struct Word {
  enum Kind : std::int32_t { started, failed, main_ended, gone } kind = started;
  enum Stage : std::int32_t { folder, program, fork } stage = program;  // that failed
  std::int32_t error = 0;                                               // errno of it
  std::int32_t status = 0;                                              // of the main process
  std::int32_t in_cgroup = 0;                                           // it could join its cgroup
  double cpu_seconds = 0;                                               // of everything reaped
};
// Our message to it: kill everything. End of file on the socket means the same.
constexpr char kill_order = 'k';

struct Charge {
  const char* const* candidates;  // paths to try, as execvp would
  char* const* argv;
  char* const* environment;
  const char* folder;                   // or nullptr
  int input, output, errors;            // the program's standard streams
  int control;                          // the supervisor's end of the socket
  int employer;                         // a pidfd of our process, or -1
  int cgroup_procs;                     // the file for joining the cgroup, or -1
  const char* cgroup_folder;            // removed by the supervisor if we are gone
  char* const* remove;                  // the command that removes other leftovers then, or nullptr
  int user_namespace, mount_namespace;  // for the program to enter, or -1
};
// Forks the supervisor and returns its process id. MachineError if the fork fails.
pid_t appoint(const Charge& charge);
// In the supervisor: forks and executes the program and reports the result in `word`. Returns its
// process id, or -1. Makes only system calls.
pid_t start_program(const Charge& charge, Word& word);

// close_range(), or one by one if the kernel is too old for it.
void close_from_to(unsigned first, unsigned last);

// Our side of a supervisor: its messages, and ours to it.
class SupervisorLink {
 public:
  explicit SupervisorLink(Charge charge);  // starts it, and waits for the program to start or fail
  ~SupervisorLink();                       // dismisses it
  SupervisorLink(const SupervisorLink&) = delete;
  SupervisorLink& operator=(const SupervisorLink&) = delete;

  pid_t pid() const { return pid_; }
  int descriptor() const { return control_.number(); }  // readable when it has sent something
  const Word& start() const { return start_; }
  const std::optional<int>& main_status() const { return main_status_; }
  bool gone() const { return gone_; }  // the whole tree is
  bool lost() const { return lost_; }  // somebody killed the supervisor
  double cpu_seconds() const { return cpu_seconds_; }

  void listen();  // reads its messages, without blocking
  // The same, and checks whether it lives: a socket that somebody else's forked process holds open
  // does not end with the supervisor.
  void look();
  void order_kill() const;
  void dismiss();                        // it kills what is left of the tree; waits for it to end
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

// Throws the error for a program that could not be started.
[[noreturn]] void refuse(const Launch& launch, const Word& word);

}  // namespace sweetspot::workload::command::process
