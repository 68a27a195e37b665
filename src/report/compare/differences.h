#pragma once
#include "report/compare/compare.h"

namespace sweetspot::report::compare {

// What the two did not have in common: machine, program, settings, and the terms of the question.
std::vector<Difference> differences(const trial::Study& a, const trial::Study& b);

}  // namespace sweetspot::report::compare
