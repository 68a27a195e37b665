#pragma once
#include <optional>
#include <span>

#include "search/search.h"
#include "study/axis.h"
#include "workload/workload.h"

namespace sweetspot::study {

// What a whole run takes at each size on an axis, where the workload can tell, remembered: planning
// a large network takes milliseconds and the search asks often. What cannot be planned at all fits
// nowhere.
search::Predict predictor(const workload::Workload& workload, const Axis& axis);

// What the finished trials of such settings let expect of one more, where the workload itself
// cannot tell: memory is theirs by micro-batch. `least`: what it takes at least.
struct MemoryExpected {
  std::optional<core::Bytes> bytes, least;
};
MemoryExpected expected_memory(std::span<const trial::Trial> trials, const trial::Setting& setting);

}  // namespace sweetspot::study
