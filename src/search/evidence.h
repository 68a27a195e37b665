#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>

#include "energy/power.h"
#include "search/search.h"
#include "stats/step_model.h"

namespace sweetspot::search {

// What the trials say, one entry for each batch.
struct Evidence {
  stats::StepTimes times;                 // of the batches that have a speed
  std::set<std::int64_t> failed;          // batches with none: never asked for again
  std::optional<std::int64_t> too_large;  // the smallest that ran out of memory or time
  std::optional<std::int64_t> largest_ok;
  std::map<std::int64_t, std::size_t> rounds;  // how many each batch was in
  energy::Powers powers;                       // of the batches whose energy was read
  bool repeats = false;         // runs are of a GPU on which steps repeat: a second run says little
  bool in_one_process = false;  // and it would share the fate of the first

  bool knows(std::int64_t batch) const;
  // Whether step times are known well enough to tell answers apart that lie within a doubling.
  bool is_fine() const;
};

// The one data model. What took turns in rounds is compared within them (stats::RoundTable). What
// ran by itself, as a program does, has its own error and that of any run beside another, which is
// never nothing. Cancelled trials say nothing.
Evidence evidence(std::span<const trial::Trial> trials);

}  // namespace sweetspot::search
