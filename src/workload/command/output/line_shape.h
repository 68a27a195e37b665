#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/output/log_line.h"
#include "workload/command/output/number.h"

namespace sweetspot::workload::command::output {

// What a number of a line means for how the line is read.
struct NumberUse {
  Number number;
  bool fixed = false;          // another value would be read as another line: an epoch, a rank
  std::size_t counter = none;  // of the line's counters
  static constexpr std::size_t none = LogLine::most_counters;
};

// A line that was read, with holes for the numbers that may differ. Nearly all lines of a log have
// one of a few shapes, and a line of a known shape is read many times faster: the result is that of
// read_log_line, always.
class LineShape {
 public:
  // Nothing for a line without a counter, or with too much in it.
  static std::optional<LineShape> of(std::string_view text, const LogLine& line,
                                     const std::vector<NumberUse>& numbers);
  // The line as this text says it; null for a text of another shape, until the next call.
  const LogLine* read(std::string_view text);

 private:
  struct Placeholder {
    enum class Takes : std::uint8_t { digits, as_many_digits, not_only_zeros, count };
    std::size_t begin = 0, end = 0;  // in the text
    Takes takes = Takes::digits;
    std::size_t counter = 0;
  };
  void add_holes(const NumberUse& use);

  std::string text_;
  std::vector<Placeholder> holes_;
  LogLine line_;
};

}  // namespace sweetspot::workload::command::output
