#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convergence/learning_rate_rule.h"
#include "convergence/successive_halving.h"
#include "learning/training_trial.h"
#include "search/search.h"
#include "study/loop.h"

namespace sweetspot::learning {

struct TargetOptions {
  trial::Target target;
  bool for_energy = false;
  trial::Setting base;  // everything except the batch and the learning rate; the first of the seeds
  std::int64_t base_batch = 100;                      // that base.learning_rate suits
  std::optional<convergence::LearningRateRule> rule;  // nullopt: by the optimizer
  bool adaptive_optimizer = true;
  bool sets_learning_rate = true;              // false: the program has its own, for every batch
  std::vector<search::BatchSpeed> candidates;  // batches that may be trained, ascending
  std::optional<std::int64_t> throughput_batch;
  std::optional<int> finalists = 4;  // nullopt: train every batch with every seed
  int seeds = 3;
  int most_epochs = 20;           // of a run that does not reach the target
  std::string if_metric_missing;  // what to do then: "; leave out --no-eval"
  study::LoopOptions loop;
  std::function<std::string(const trial::Setting&)> command;  // trains at a setting
};

// Which batch reaches the target at the smallest cost. The batch nearest to `base_batch` is trained
// first: its samples and its noise scale predict what every other batch needs, and their speeds
// what that costs; convergence::next_run selects the most promising ones for training. Every
// decision follows from the finished runs, so a stored study can be resumed. The answer is an
// advise::TimeToTarget.
study::Result reach_target(workload::Training& training, store::Writer& writer,
                           const TargetOptions& options, study::Observer& observer,
                           const std::atomic<int>& stop);

}  // namespace sweetspot::learning
