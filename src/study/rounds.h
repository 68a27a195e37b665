#pragma once
#include <functional>
#include <string>
#include <vector>

#include "search/search.h"
#include "study/loop.h"
#include "study/axis.h"
#include "telemetry/machine.h"

namespace sweetspot::study {

// Searches on this axis in rounds: a coarse scan of the range, then rounds of the batches that
// matter, until more of them gain nothing or the time is over. Saves what is known every other
// second, with the answer so far (`answer`: as JSON, from the loop's trials; may be empty).
using AnswerSoFar = std::function<std::string()>;
void search_in_rounds(Loop& loop, workload::Workload& workload, const Axis& axis,
                      const search::Limits& limits, const search::Predict& predict,
                      const AnswerSoFar& answer, telemetry::Machine& machine);

// These settings, of one power limit, in rounds until each is as precise as the loop's options
// require, or took as long as they allow.
void measure_in_rounds(Loop& loop, workload::Workload& workload,
                       const std::vector<trial::Setting>& settings,
                       std::optional<core::Bytes> memory, telemetry::Machine& machine);

}  // namespace sweetspot::study
