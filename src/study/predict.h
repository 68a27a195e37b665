#pragma once
#include "search/search.h"
#include "study/axis.h"
#include "workload/workload.h"

namespace sweetspot::study {

// The workload's own prediction for each size on an axis, remembered: planning a large network
// takes milliseconds and the search asks often. What cannot be planned at all fits nowhere.
search::Predict predictor(const workload::Workload& workload, const Axis& axis);

}  // namespace sweetspot::study
