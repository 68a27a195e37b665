#pragma once
#include <cstdint>

#include "tuning/tune.h"
#include "workload/fake/fake.h"

namespace sweetspot::study {

// A random machine and workload with a known truth: steps with cliffs and padding, memory that may
// or may not be predicted, noise of each step, and what real machines have and no search may
// ignore: drift and neighbours that affect all batches, and a deviation of each run.
struct StudyKey {
  workload::fake::Options machine;
  search::Limits limits;
  bool linear_memory = true;
};
StudyKey draw_question(std::uint32_t number);

// The result of a tune, and what would have been right.
struct Verdict {
  std::optional<advise::Recommendation> recommendation;
  double share_of_best = 0;  // true throughput of the answer relative to the best
  double smaller_share = 0;  // the same for the fastest of half the answer or less
  std::int64_t true_knee = 0, true_best = 0;
  std::size_t batches = 0;  // that were measured
  double seconds = 0;       // of virtual time
  bool above_cap = false;   // a launch that did not fit
};
Verdict tune_for(const StudyKey& study_key);

}  // namespace sweetspot::study
