#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/interval.h"

namespace sweetspot::convergence {

// The loss of one branch: from one checkpoint, a number of samples at this batch in a seed's order.
struct BranchLoss {
  std::int64_t batch = 1;
  std::uint64_t seed = 0;
  double loss = 0;  // not finite if it diverged
};

// One batch over the seeds. Losses are relative to the smallest batch's of the same seed, which had
// the same samples in the same order.
struct BranchRow {
  std::int64_t batch = 1;
  std::vector<double> losses, ratios;  // of the seeds that did not diverge
  std::size_t diverged = 0;
  double ratio = 1;  // geometric mean
  bool within = true;
};

struct CriticalBatch {
  std::vector<BranchRow> rows;  // by batch, ascending
  // The largest batch up to which, from the smallest on, every mean loss is within the tolerance.
  std::int64_t batch = 1;
  // Where the loss crosses the tolerance, interpolated between batches, over the seeds: geometric
  // mean and 95% interval; nullopt below two seeds.
  std::optional<stats::Interval> crossing;
  bool at_least = false;  // the largest batch tried is within: it may be larger
};

// After Merrill et al., arXiv 2505.23971. `tolerance` is the relative excess of a loss. nullopt
// below two batches, or if the smallest diverged.
std::optional<CriticalBatch> critical_batch(std::span<const BranchLoss> branches, double tolerance);

}  // namespace sweetspot::convergence
