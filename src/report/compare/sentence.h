#pragma once
#include <string>

#include "report/compare/compare.h"

namespace sweetspot::report::compare {

// What to take home: who is faster and by how much, where each is fastest, and how the batches
// stand that both measured.
std::string sentence(const Comparison& comparison);

// "1.82 (1.75–1.90)"
std::string ratio_words(const trial::Interval& ratio);

}  // namespace sweetspot::report::compare
