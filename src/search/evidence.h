#pragma once
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "search/search.h"
#include "stats/step_model.h"

namespace sweetspot::search {

// What the finished trials say, one entry for each batch.
struct Evidence {
  std::vector<stats::StepPoint> points;   // measured speeds, ascending by batch
  std::set<std::int64_t> failed;          // batches with no speed: never asked for again
  std::optional<std::int64_t> too_large;  // the smallest that ran out of memory or time
  std::optional<std::int64_t> largest_ok;
};

// Repeated trials of one batch are averaged by their precision, and by how well repeated trials
// agree at all; one that was disturbed counts less. Cancelled trials say nothing.
Evidence evidence(std::span<const trial::Trial> trials);

}  // namespace sweetspot::search
