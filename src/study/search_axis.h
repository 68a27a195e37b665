#pragma once
#include <optional>
#include <vector>

#include "trial/trial.h"

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

}  // namespace sweetspot::study
