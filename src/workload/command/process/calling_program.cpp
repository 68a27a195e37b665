#include "workload/command/process/calling_program.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sweetspot::workload::command::process {

Caller::Caller(pid_t pid)
    : pid_(pid),
      process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      peak_memory_([pid] { return family_of(pid); }) {}

std::vector<int> Caller::descriptors() const {
  if (!process_) return {};  // a kernel before 5.3: its connection ends with it
  return {process_.number()};
}

bool Caller::ended() {
  pollfd wait{process_.number(), POLLIN, 0};
  return process_ && poll(&wait, 1, 0) > 0;
}

std::optional<Memory> Caller::memory() {
  peak_memory_.sample();
  return peak_memory_.peak();
}

std::size_t Caller::count() const { return family_of(pid_).size(); }

bool Caller::forget_peak() {
  peak_memory_.forget();
  return true;
}

Ending Caller::end(core::Seconds) {
  peak_memory_.sample_last();
  Ending ending;
  ending.memory = peak_memory_.peak();
  return ending;
}

}  // namespace sweetspot::workload::command::process
