#pragma once
#include "search/evidence.h"
#include "search/memory_fit.h"
#include "search/range.h"

namespace sweetspot::search {

// The search for the largest batch that fits: straight to the predicted one, and one trial to prove
// it. Where the workload cannot predict, upwards to what fits with 95%, each trial refining the
// fit, or by a bounded factor where no limit is known; below one that failed without a word, by
// halves.
Next next_for_max_batch(const Evidence& evidence, const Range& range, const MemoryFit& memory);

}  // namespace sweetspot::search
