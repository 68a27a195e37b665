#pragma once
#include <atomic>

#include "core/descriptor.h"

namespace sweetspot::cli {

// A closed pipe and a file-size limit become write errors instead of killing the process.
void turn_signals_into_errors();

// While it lives, the first Ctrl-C or SIGTERM is noted in stopped(), and the next one kills.
class StopOnSignal {
 public:
  // A rank hears of it by SIGUSR1, which mpirun hands on; the others of all ranks it kills.
  explicit StopOnSignal(bool of_rank = false);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  static const std::atomic<int>& stopped();  // the signal's number, or 0
};

// While it lives, Ctrl-C is counted in presses(): what one or two mean is the reader's business,
// the third kills. SIGTERM is as good as two, and never kills.
class CountSignals {
 public:
  explicit CountSignals(bool of_rank = false);  // as of StopOnSignal: SIGUSR1 is a press
  ~CountSignals();
  CountSignals(const CountSignals&) = delete;
  CountSignals& operator=(const CountSignals&) = delete;

  static const std::atomic<int>& presses();
  // The signal's number; SIGHUP where none came: then the program that called us went away.
  static int last();
};

// While it lives, Ctrl-C and SIGTERM make it readable: for a loop that waits on descriptors.
class SignalDescriptor {
 public:
  SignalDescriptor();  // MachineError when there can be none
  ~SignalDescriptor();
  SignalDescriptor(const SignalDescriptor&) = delete;
  SignalDescriptor& operator=(const SignalDescriptor&) = delete;

  int number() const { return descriptor_.number(); }
  int received() const;  // the signal's number; waits for it

 private:
  core::Descriptor descriptor_;
};

}  // namespace sweetspot::cli
