#pragma once
#include "search/evidence.h"
#include "search/range.h"

namespace sweetspot::search {

// The knee search. Every candidate is scored by what its measurement may change: the throughput
// beyond the tolerance that it may win over the batch now chosen, and the octaves that it may save
// below it. The highest score is measured next; when none is worth a trial, the search is over.
//
// The compromise about large batches: a step of hours proves nothing, and a curve that has been
// flat for long seldom turns up again. So no probe is larger than four times the knee of the fitted
// line unless its step is predicted to take a tenth of a second at most. A machine that gets
// faster beyond that is not found out.
Next next_for_knee(const Evidence& evidence, const Range& range, const Limits& limits);
std::optional<Choice> choose_knee(const Evidence& evidence, const Range& range,
                                  const Limits& limits);

}  // namespace sweetspot::search
