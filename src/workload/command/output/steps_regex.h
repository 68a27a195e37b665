#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {

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

}  // namespace sweetspot::workload::command::output
