#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "workload/command/process/process.h"

namespace sweetspot::workload::command::process {

struct Output {
  std::string out, err;
};

Launch shell(const std::string& script);
Launch python(const std::string& script);

// Waits until there is something to read, and reads it.
Output read_some(Process& process);
// Reads until the marker has come on either stream, or everything has ended.
Output read_until(Process& process, const std::string& marker);
Output read_all(Process& process);
Output read_until_ended(Process& process);  // the main process; others may keep the streams open

bool exists(pid_t pid);
bool runs(pid_t pid);  // a zombie exists, but does not run
// The numbers after `key` in the output: "pid 12\npid 15\n".
std::vector<pid_t> pids_in(const std::string& output, const std::string& key = "pid");
std::size_t open_descriptors();
std::vector<pid_t> own_children();

}  // namespace sweetspot::workload::command::process
