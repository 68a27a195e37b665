#pragma once
#include "search/evidence.h"
#include "search/memory_fit.h"
#include "search/range.h"

namespace sweetspot::search {

// The search for the largest batch that fits: directly to the predicted one, and one trial to prove
// it. If the workload cannot predict, upwards to what fits with 95% probability, each trial
// refining the fit, or by a bounded factor if no limit is known; below a batch that failed without
// a message, by bisection.
Next next_for_max_batch(const Evidence& evidence, const Range& range, const MemoryFit& memory);

}  // namespace sweetspot::search
