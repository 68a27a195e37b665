#pragma once
#include <vector>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/process.h"

namespace sweetspot::workload::command::process {

// The program's output: two pipes, or a pseudo-terminal.
class Streams {
 public:
  explicit Streams(bool terminal);

  // The program's ends, to be closed here once it has them.
  int output() const { return program_output_.number(); }
  int errors() const { return (program_errors_ ? program_errors_ : program_output_).number(); }
  void close_program_ends();

  std::vector<int> open() const;  // ours, without those that have ended
  // Appends what is available without blocking, about `limit` bytes at most.
  void read(std::vector<Chunk>& chunks, std::size_t limit);

 private:
  bool piped_;
  Descriptor output_, errors_, program_output_, program_errors_;
};

}  // namespace sweetspot::workload::command::process
