#pragma once
#include <optional>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/supervisor.h"

namespace sweetspot::workload::command::process {

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

}  // namespace sweetspot::workload::command::process
