#pragma once
#include <string>

#include "report/compare/compare.h"

namespace sweetspot::report::compare {

// Who is faster, or why that cannot be said; without a full stop.
std::string verdict_words(const Comparison& comparison);
// How the batches stand that both measured; empty where one measured nothing.
std::string batches_sentence(const Comparison& comparison);
// What to take home: who is faster and by how much, where each is fastest, and the batches.
std::string sentence(const Comparison& comparison);

// "1.82 (1.75–1.90)"
std::string ratio_words(const trial::Interval& ratio);

}  // namespace sweetspot::report::compare
