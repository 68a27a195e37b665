#pragma once
#include <atomic>

#include "core/descriptor.h"

namespace sweetspot::cli {

// A closed pipe and a file-size limit become write errors instead of killing the process.
void turn_signals_into_errors();

// During its lifetime, the first Ctrl-C or SIGTERM is recorded in stopped(), and the next one
// kills.
class StopOnSignal {
 public:
  // A rank is told by SIGUSR1, which mpirun forwards; it kills all ranks for the others.
  explicit StopOnSignal(bool of_rank = false);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  static const std::atomic<int>& stopped();  // the signal's number, or 0
};

// During its lifetime, Ctrl-C is counted in presses(): the reader decides what one or two mean, the
// third kills. SIGTERM counts as two, and never kills.
class CountSignals {
 public:
  explicit CountSignals(bool of_rank = false);  // as of StopOnSignal: SIGUSR1 is a press
  ~CountSignals();
  CountSignals(const CountSignals&) = delete;
  CountSignals& operator=(const CountSignals&) = delete;

  static const std::atomic<int>& presses();
  // The signal's number; SIGHUP if there was none: then the program that called us ended.
  static int last();
};

// During its lifetime, Ctrl-C and SIGTERM make it readable: for a loop that waits on descriptors.
class SignalDescriptor {
 public:
  SignalDescriptor();  // MachineError if it cannot be created
  ~SignalDescriptor();
  SignalDescriptor(const SignalDescriptor&) = delete;
  SignalDescriptor& operator=(const SignalDescriptor&) = delete;

  int number() const { return descriptor_.number(); }
  int received() const;  // the signal's number; waits for it

 private:
  core::Descriptor descriptor_;
};

}  // namespace sweetspot::cli
