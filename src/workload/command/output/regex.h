#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trial/target.h"
#include "workload/command/output/progress_bars.h"

namespace sweetspot::workload::command::output {

// A regular expression of the user's (PCRE2), for lines that anybody may have written. A line that
// costs too much is passed over, and after too many of them all are.
class Pattern {
 public:
  Pattern(const std::string& pattern, std::string flag);  // InputError names the flag
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Where the match at or after `from` begins and ends, then its first group; nullptr for none, and
  // valid until the next call. A group that took no part has its end before its beginning.
  const std::size_t* find(std::string_view line, std::size_t from);
  std::size_t groups() const;
  bool has_group(const char* name) const;
  bool gave_up() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The user's --steps-regex (PCRE2): a group is a counter of updates, a group named "samples" one of
// samples, and without a group each match is one update.
class StepsRegex {
 public:
  explicit StepsRegex(const std::string& pattern);  // InputError
  ~StepsRegex();
  StepsRegex(StepsRegex&&) noexcept;
  StepsRegex& operator=(StepsRegex&&) noexcept;

  // Calls `found` for each match in the line, with the counter's value so far. A line that costs
  // too much is passed over, and after too many of them all are.
  void read(std::string_view line, const std::function<void(std::int64_t count)>& found);
  Counts counts() const;
  bool gave_up() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What a program prints of an accuracy or a loss on its test data: --metric-regex, whose one group
// is the value ("0.987", "98.7%", "1.2e-3"), else the usual ways to print one ("val_accuracy:
// 0.98", "Test loss 0.05").
class MetricRegex {
 public:
  // InputError for an expression that cannot be used.
  MetricRegex(trial::Target::Metric metric, const std::optional<std::string>& regex);
  // The last one in the line. A percentage becomes a share, and so does an accuracy between 1 and
  // 100.
  std::optional<double> read(std::string_view line);

 private:
  trial::Target::Metric metric_;
  Pattern pattern_;
};

}  // namespace sweetspot::workload::command::output
