#pragma once
#include <optional>

#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::study {

// How fast ranks are at the answer beside one of them alone; nothing where the workload has none,
// or where it cannot be told.
std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made);

}  // namespace sweetspot::study
