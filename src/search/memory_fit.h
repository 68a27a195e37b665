#pragma once
#include <map>
#include <optional>
#include <span>

#include "search/search.h"
#include "stats/linear_fit.h"

namespace sweetspot::search {

// The most bytes a batch may take: the workload's own prediction, else the upper end of a fit of
// fixed + per-sample bytes over what was measured.
class MemoryFit {
 public:
  MemoryFit(std::span<const trial::Trial> trials, const Predict& predict);
  // Nothing when nothing is known.
  std::optional<double> most_bytes(std::int64_t batch) const;
  // What it will probably take, to be held against what it does: the workload's own prediction,
  // else the line through what was measured. Nothing before two sizes were.
  std::optional<double> expected_bytes(std::int64_t batch) const;
  // The least it can take, where that is known well enough to refuse a launch that was asked for.
  std::optional<double> least_bytes(std::int64_t batch) const;
  // Whether the workload itself can tell.
  bool predicted(std::int64_t batch) const { return predict_ && predict_(batch); }

 private:
  double extrapolated(std::int64_t batch) const;
  std::optional<stats::LinearFit> line() const;

  const Predict& predict_;
  std::map<std::int64_t, double> measured_;  // the peak of each batch
};

}  // namespace sweetspot::search
