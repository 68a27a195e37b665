#pragma once
#include <optional>
#include <vector>

#include "search/search.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::study {

// What a search varies: the batch, with everything else as in `base`; or, if the batch is given,
// the micro-batch, and the accumulation with it. The search itself knows only sizes.
struct Axis {
  trial::Setting base;
  std::optional<std::int64_t> global_batch;

  trial::Setting at(std::int64_t size) const;
  std::int64_t size(const trial::Setting& setting) const;
  // The trials on it, with their size in place of the batch.
  std::vector<trial::Trial> on(const std::vector<trial::Trial>& trials) const;
};

// The memory of a whole run at each size on an axis, if the workload can predict it, cached:
// planning a large network takes milliseconds and the search asks often. What cannot be planned at
// all does not fit.
search::Predict predictor(const workload::Workload& workload, const Axis& axis);

}  // namespace sweetspot::study
