#pragma once
#include <string>
#include <vector>

#include "advise/advise.h"

namespace sweetspot::report {

// The recommendation's rows in words, for the terminal and for markdown.
struct AnswerLine {
  std::string batch, samples_per_second, share, reach, within, memory, limited_by;
  std::string failure;  // "out of memory": nothing else is said of the batch then
  bool chosen = false;
};
struct AnswerTable {
  std::string batch_title, within_title;  // "micro-batch", "within 5%?"
  std::vector<AnswerLine> lines;
};
AnswerTable answer_table(const advise::Recommendation& made);

}  // namespace sweetspot::report
