#pragma once
#include <string>

#include "report/charts/series.h"

namespace sweetspot::report {

// Throughput over the batch with intervals and the chosen batch, as one <svg>; empty if nothing was
// measured.
std::string headline_chart(const ShownStudy& study, const std::vector<Series>& all);

}  // namespace sweetspot::report
