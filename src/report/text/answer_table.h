#pragma once
#include <string>
#include <vector>

#include "advise/figures.h"

namespace sweetspot::report {

// The recommendation's rows in words, for the terminal and for markdown.
struct AnswerLine {
  std::int64_t size = 1;
  std::string batch;
  std::vector<advise::Cell> cells;  // one of each further column; none if it failed
  std::string failure;              // "out of memory": the only cell of the batch then
  bool chosen = false;
};
struct AnswerColumn {
  std::string title, short_title;
  bool left = false;
};
// The columns are the figures of an answer; if several precisions or power limits were searched,
// these instead: "bf16", "500 W".
struct AnswerTable {
  std::string batch_title;  // "micro-batch"
  std::vector<AnswerColumn> columns;
  std::vector<AnswerLine> lines;
};
AnswerTable answer_table(const advise::Recommendation& made);

}  // namespace sweetspot::report
