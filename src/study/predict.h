#pragma once
#include "search/search.h"
#include "workload/workload.h"

namespace sweetspot::study {

// The workload's own prediction at `base` with another batch, remembered: planning a large network
// takes milliseconds and the search asks often. What cannot be planned at all fits nowhere.
search::Predict predictor(const workload::Workload& workload, const trial::Setting& base);

}  // namespace sweetspot::study
