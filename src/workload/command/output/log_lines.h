#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/output/number.h"
#include "workload/command/output/progress_bars.h"

namespace sweetspot::workload::command::output {

// A counter in a log line: an integer next to a word for updates or samples, in any punctuation.
struct LineCounter {
  Counts counts = Counts::updates;
  std::int64_t count = 0;
  std::optional<std::int64_t> total = {};
  std::uint64_t identity = 0;   // the same from line to line: its words, its total, what follows
  bool weight_updates = false;  // it says so, as opposed to batches
};

// What one log line says that matters for steps.
struct LogLine {
  static constexpr std::size_t most_counters = 6;

  std::span<const LineCounter> counters() const { return {all.data(), size}; }
  // It is about a validation, a download or similar, not training.
  bool is_of_something_else() const {
    return evaluates || (prepares && !trains) || (evaluation_metrics > 0 && training_metrics == 0);
  }

  std::array<LineCounter, most_counters> all = {};
  std::size_t size = 0;
  std::optional<std::int64_t> epoch = {};
  std::uint64_t evaluation = 0;  // changes with the values of evaluation metrics; 0 for none
  int evaluation_metrics = 0, training_metrics = 0;
  bool evaluates = false;  // a word for it appears as more than the name of a metric
  bool prepares = false;
  bool trains = false;
  bool saves = false;
  bool environment = false;  // it counts episodes or similar: its steps are not updates
};

LogLine read_log_line(std::string_view text);

// What a number of a line means for parsing it.
struct NumberUse {
  Number number;
  bool fixed = false;          // another value makes it a different line: an epoch, a rank
  std::size_t counter = none;  // of the line's counters
  static constexpr std::size_t none = LogLine::most_counters;
};

// A parsed line, with placeholders for the numbers that may differ. Nearly all lines of a log have
// one of a few shapes, and a line of a known shape is parsed many times faster: the result is
// always that of read_log_line.
class LineShape {
 public:
  // nullopt for a line without a counter, or with too much in it.
  static std::optional<LineShape> of(std::string_view text, const LogLine& line,
                                     const std::vector<NumberUse>& numbers);
  // The line from this text, valid until the next call; null for a text of another shape.
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

// Parses log lines as read_log_line does, and remembers the last shapes of those with a counter.
// The result is valid until the next call.
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
