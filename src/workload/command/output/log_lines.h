#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "workload/command/output/line_shape.h"
#include "workload/command/output/log_line.h"

namespace sweetspot::workload::command::output {

// Reads one line of a log after the other as read_log_line does, and remembers the last shapes of
// those with a counter. What is returned holds until the next call.
class LogLines {
 public:
  // The line if it has one of those shapes, else null.
  const LogLine* known(std::string_view text);
  const LogLine& read(std::string_view text);

 private:
  static constexpr std::size_t most_shapes = 4;
  std::vector<LineShape> shapes_;
  std::size_t next_ = 0;
  std::vector<NumberUse> numbers_;
  LogLine line_;
};

}  // namespace sweetspot::workload::command::output
