#pragma once
#include <cstddef>
#include <string>

#include "report/answer.h"

namespace sweetspot::report {

struct PlotOptions {
  std::size_t width = 72, height = 12;  // of the whole, axes included
  bool utf8 = true;                     // else ASCII
};

// Throughput over the batch (on a logarithmic axis) as lines of text, with the chosen batch marked;
// empty below two batches.
std::string plot(const Answer& answer, const PlotOptions& options);

}  // namespace sweetspot::report
