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

// A user's regular expression (PCRE2), for untrusted lines. A line that costs too much is skipped,
// and after too many of them all are.
class Pattern {
 public:
  Pattern(const std::string& pattern, std::string flag);  // InputError names the flag
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Where the match at or after `from` begins and ends, then its first group; nullptr for none, and
  // valid until the next call. An unset group has its end before its beginning.
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
  // too much is skipped, and after too many of them all are.
  void read(std::string_view line, const std::function<void(std::int64_t count)>& found);
  Counts counts() const;
  bool gave_up() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A printed accuracy or loss on the program's test data: --metric-regex, whose one group is the
// value ("0.987", "98.7%", "1.2e-3"), else the usual formats ("val_accuracy: 0.98", "Test loss
// 0.05").
class MetricRegex {
 public:
  // InputError for an invalid expression.
  MetricRegex(trial::Target::Metric metric, const std::optional<std::string>& regex);
  // The last one in the line. A percentage is converted to a fraction, and so is an accuracy
  // between 1 and 100.
  std::optional<double> read(std::string_view line);

 private:
  trial::Target::Metric metric_;
  Pattern pattern_;
};

}  // namespace sweetspot::workload::command::output
