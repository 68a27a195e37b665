#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "trial/trial.h"

namespace sweetspot::report {

struct PlotOptions {
  std::size_t width = 72, height = 12;  // of the whole, axes included
  bool utf8 = true;                     // else ASCII
  std::optional<std::int64_t> chosen;   // this batch is marked
};

// Throughput over the batch (on a logarithmic axis) as lines of text; empty below two batches. A
// batch of several trials is shown at their mean.
std::string plot(std::span<const trial::Trial> trials, const PlotOptions& options);

}  // namespace sweetspot::report
