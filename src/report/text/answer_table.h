#pragma once
#include <string>
#include <vector>

#include "advise/advise.h"

namespace sweetspot::report {

// The recommendation's rows in words, for the terminal and for markdown.
struct AnswerLine {
  std::int64_t size = 1;
  std::string batch, samples_per_second, share, reach, within, memory, energy, limited_by;
  std::vector<std::string> by_variant;
  std::string failure;  // "out of memory": the only cell of the batch then
  bool chosen = false;
};
struct AnswerTable {
  std::string batch_title, within_title;  // "micro-batch", "within 5%?"
  bool has_energy = false;                // of any batch
  // If several precisions or power limits were searched, the table has batches and these, and no
  // other columns: "bf16", "500 W".
  std::vector<std::string> variant_titles;
  std::vector<AnswerLine> lines;
};
AnswerTable answer_table(const advise::Recommendation& made);

}  // namespace sweetspot::report
