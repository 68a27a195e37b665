#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>

#include "energy/power.h"
#include "search/search.h"
#include "stats/step_model.h"

namespace sweetspot::search {

// What the trials say, one entry per batch.
struct Evidence {
  stats::StepTimes times;                 // of the batches that have a speed
  std::set<std::int64_t> failed;          // batches without one: never tried again
  std::optional<std::int64_t> too_large;  // the smallest that ran out of memory or time
  std::optional<std::int64_t> largest_ok;
  std::map<std::int64_t, std::size_t> rounds;    // how many each batch was in
  std::map<std::int64_t, std::size_t> compared;  // how many of them with others
  energy::Powers powers;                         // of the batches with an energy reading
  bool repeats = false;         // on a GPU with repeatable steps: a second run says little
  bool in_one_process = false;  // and would not be independent of the first

  bool knows(std::int64_t batch) const;
  // The smallest error of a step time: a standard deviation of logarithms.
  double finest_deviation() const;
  // Whether step times are known well enough to distinguish answers within a doubling.
  bool is_fine() const;
};

// The one data model. Batches interleaved in rounds are compared within them (stats::RoundTable).
// Separate runs, as of a program, have their own error and the between-run deviation, which is
// never zero. Between the two kinds there is an offset, estimated from batches that have both: step
// times are those of rounds, if there are any. Cancelled trials are ignored.
Evidence evidence(std::span<const trial::Trial> trials);

}  // namespace sweetspot::search
