#pragma once
#include <optional>
#include <span>

#include "search/search.h"
#include "study/search_axis.h"
#include "workload/workload.h"

namespace sweetspot::study {

// The memory of a whole run at each size on an axis, if the workload can predict it, cached:
// planning a large network takes milliseconds and the search asks often. What cannot be planned at
// all does not fit.
search::Predict predictor(const workload::Workload& workload, const Axis& axis);

// The memory of another such setting, extrapolated from the finished trials, if the workload itself
// cannot predict it: by micro-batch. `least`: a lower bound.
struct MemoryExpected {
  std::optional<core::Bytes> bytes, least;
};
MemoryExpected expected_memory(std::span<const trial::Trial> trials, const trial::Setting& setting);

}  // namespace sweetspot::study
