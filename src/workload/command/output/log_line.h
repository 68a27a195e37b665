#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {

// A counter in a line of a log: a whole number beside a word for updates or samples, in whatever
// punctuation.
struct LineCounter {
  Counts counts = Counts::updates;
  std::int64_t count = 0;
  std::optional<std::int64_t> total = {};
  std::uint64_t identity = 0;   // the same from line to line: its words, its total, what follows
  bool weight_updates = false;  // it says that it counts those, and not batches
};

// What one line of a log says that matters for steps.
struct LogLine {
  static constexpr std::size_t most_counters = 6;

  std::span<const LineCounter> counters() const { return {all.data(), size}; }
  // It is of a validation, a download or the like, and none of training.
  bool is_of_something_else() const {
    return evaluates || (prepares && !trains) || (evaluation_metrics > 0 && training_metrics == 0);
  }

  std::array<LineCounter, most_counters> all = {};
  std::size_t size = 0;
  std::optional<std::int64_t> epoch = {};
  std::uint64_t evaluation = 0;  // differs where the values of evaluation metrics do; 0 for none
  int evaluation_metrics = 0, training_metrics = 0;
  bool evaluates = false;  // a word for it stands there as more than the name of a metric
  bool prepares = false;
  bool trains = false;
  bool saves = false;
  bool environment = false;  // it counts episodes or the like: what it calls steps is no update
};

LogLine read_log_line(std::string_view text);

}  // namespace sweetspot::workload::command::output
