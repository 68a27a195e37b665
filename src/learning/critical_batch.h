#pragma once
#include <string>
#include <vector>

#include "convergence/critical_batch.h"
#include "convergence/learning_rate_rule.h"
#include "study/loop.h"
#include "workload/checkpoint_branches.h"

namespace sweetspot::learning {

struct CriticalBatchOptions {
  std::vector<std::int64_t> batches;  // ascending
  std::vector<std::uint64_t> seeds;
  std::int64_t samples = 0;  // of each branch
  double tolerance = 0.05;
  trial::Setting base;  // with the learning rate of the smallest batch
  convergence::LearningRateRule rule = convergence::LearningRateRule::surge;
  std::optional<core::Bytes> memory_limit;
  study::LoopOptions loop;
};

// Short branches from one checkpoint, seed by seed, with equal numbers of samples: the largest
// batch whose loss stays within the tolerance of the smallest's. Every branch is a trial of the
// study, whose last loss is that of the test split; stored ones are not run again. The answer is an
// advise::CriticalBatchAnswer.
study::Result critical_batch(workload::Branching& branching, store::Writer& writer,
                             const CriticalBatchOptions& options, study::Observer& observer,
                             const std::atomic<int>& stop);

}  // namespace sweetspot::learning
