#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sweetspot::tests {

struct Finished {
  int exit_code = -1;  // 128 + n when signal n killed it, as a shell says
  std::string out, err;
};

// How to run the program: variables to set (or, with an empty value, to unset), a file-size limit,
// a terminal for stderr or stdout, a file for stdout, and a signal once some text has been seen.
struct Launch {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::optional<unsigned long> file_size_limit;
  bool terminal = false, stdout_terminal = false;
  unsigned short columns = 80;  // of the terminal
  std::string stdout_file;
  std::string signal_when_seen;  // in what stdout and stderr have shown so far
  int signal = 0;
  // After that, in order: what to do to the process once some further text has been seen.
  struct Cue {
    std::string seen;
    std::function<void(pid_t)> act;
  };
  std::vector<Cue> cues{};
  std::optional<std::chrono::microseconds> signal_after;  // its start, instead of something seen
  std::string folder;                                     // to run in
};

// Runs the real binary to its end; killed, and so failing, after nine minutes.
Finished run(const Launch& launch);
Finished run(const std::vector<std::string>& arguments);

}  // namespace sweetspot::tests
