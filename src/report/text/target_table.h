#pragma once
#include <string>
#include <vector>

#include "advise/time_to_target.h"
#include "report/text/screen.h"

namespace sweetspot::report {

// The batches of a time to target as text, for the terminal and for markdown.
struct TargetLine {
  std::int64_t size = 1;
  std::string batch, learning_rate, predicted, measured, epochs, reached;
  std::string failure;  // the only cell of the batch then
  bool chosen = false;
};
struct TargetTable {
  std::string unit;  // "s", "J"
  std::vector<TargetLine> lines;
};
TargetTable target_table(const advise::TimeToTarget& made);

// The answer on one screen, like screen().
std::string target_screen(const advise::TimeToTarget& made, const ScreenOptions& options);
std::string target_markdown(const advise::TimeToTarget& made);  // the table alone

}  // namespace sweetspot::report
