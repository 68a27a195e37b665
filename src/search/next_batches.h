#pragma once
#include <optional>
#include <vector>

#include "search/evidence.h"
#include "search/range.h"

namespace sweetspot::search {

// A first look over the range: the next batch of it, or nothing once it is known from its smallest
// batch to the largest one that is worth a look. Upwards in growing steps, so that nothing is run
// for minutes on the word of a line through small batches. With care: no further than the answer
// needs, since a run that is too large dies.
std::optional<std::int64_t> next_to_scout(const Evidence& evidence, const Range& range,
                                          const Limits& limits, bool with_care = false);

// With such care, one step further up, if the answer would be out of tolerance by what the line
// through the largest batches promises there.
std::optional<std::int64_t> next_above(const Evidence& evidence, const Range& range,
                                       const Limits& limits, const Decision& decision);

// Which batches are worth measuring further, and whether any is.
struct NextBatches {
  // Those that take turns: the answer as it stands, the fastest, both ends of what is known now and
  // then, because they fix the line, half and twice the answer and the fastest, and those that may
  // turn out to be the better answer, the likeliest first.
  std::vector<std::int64_t> batches;
  // Of those measured, the ones on which the answer turns, or nearly does: what a further run of
  // them showed might change it.
  std::vector<std::int64_t> unclear;
  // Of those not measured yet, the one that promises most, if it is worth a run of its own.
  std::optional<std::int64_t> unmeasured;
  bool settled = false;  // more measuring promises nothing
  Decision decision;     // the answer so far
};
NextBatches next_batches(const Evidence& evidence, const Range& range, const Limits& limits);

}  // namespace sweetspot::search
