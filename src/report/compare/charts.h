#pragma once
#include <string>

#include "report/compare/compare.h"

namespace sweetspot::report::compare {

// The throughput of both by batch, with intervals.
std::string speed_chart(const Comparison& comparison);
// B over A by batch, with intervals; empty where no batch was measured in both.
std::string ratio_chart(const Comparison& comparison);

}  // namespace sweetspot::report::compare
