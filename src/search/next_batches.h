#pragma once
#include <optional>
#include <vector>

#include "search/evidence.h"
#include "search/range.h"

namespace sweetspot::search {

// A coarse scan of the range: its next batch, or nullopt once it is known from the smallest batch
// to the largest one worth measuring. Upwards in growing steps, so that nothing runs for minutes
// based on a line through small batches. With care: no further than the answer needs, since a run
// that is too large dies.
std::optional<std::int64_t> next_to_scout(const Evidence& evidence, const Range& range,
                                          const Limits& limits, bool with_care = false);

// With such care, one step further up, if the line through the largest batches puts the answer
// outside the tolerance there.
std::optional<std::int64_t> next_above(const Evidence& evidence, const Range& range,
                                       const Limits& limits, const Decision& decision);

// Which batches are worth measuring further, if any.
struct NextBatches {
  // Those that are interleaved: the current answer, the fastest, both ends of the measured range
  // from time to time, because they fix the line, half and twice the answer and the fastest, and
  // those that may turn out to be the better answer, the most likely first.
  std::vector<std::int64_t> batches;
  // The measured batches that decide the answer, or nearly do: another run of them might change it.
  std::vector<std::int64_t> unclear;
  // The most promising unmeasured batch, if it is worth a separate run.
  std::optional<std::int64_t> unmeasured;
  bool settled = false;  // more measuring gains nothing
  Decision decision;     // the answer so far
};
NextBatches next_batches(const Evidence& evidence, const Range& range, const Limits& limits);

}  // namespace sweetspot::search
