#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "advise/time_to_target.h"
#include "convergence/learning_rate_rule.h"
#include "convergence/race.h"
#include "measure/training_trial.h"
#include "search/search.h"
#include "study/loop.h"

namespace sweetspot::learning {

struct TargetOptions {
  trial::Target target;
  bool for_energy = false;
  trial::Setting base;  // everything but the batch and the learning rate; the first of the seeds
  std::int64_t base_batch = 100;                      // that base.learning_rate suits
  std::optional<convergence::LearningRateRule> rule;  // nothing: by the optimizer
  bool adaptive_optimizer = true;
  bool sets_learning_rate = true;              // false: the program has its own, whatever the batch
  std::vector<search::BatchSpeed> candidates;  // batches that may be trained, ascending
  std::optional<std::int64_t> throughput_batch;
  std::optional<int> finalists = 4;  // nothing: train every batch with every seed
  int seeds = 3;
  int most_epochs = 20;  // of a run that does not reach the target
  study::LoopOptions loop;
  std::function<std::string(const trial::Setting&)> command;  // that trains at a setting
};

// `not_reached`: runs ended, and none of them had reached the target. `metric_missing`: they did
// not even tell the metric.
enum class TargetStatus {
  found,
  not_reached,
  metric_missing,
  nothing_feasible,
  budget,
  stopped,
  store_failed,
  device_lost
};
std::string_view name(TargetStatus status);

struct TargetResult {
  TargetStatus status = TargetStatus::found;
  std::string message;  // why it is not "found"
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;
  core::Seconds spent{0};
  advise::TimeToTarget answer;  // as the store has it
};

// Which batch reaches the target at the least cost. The batch that is nearest to `base_batch` is
// trained first: its samples and its noise scale say what every other batch would need, and their
// speeds what that takes; the most promising are trained by convergence::next_run. Everything that
// is decided follows from the finished runs, so that a study that is in the store goes on.
TargetResult reach_target(workload::Training& training, store::Writer& writer,
                          const TargetOptions& options, study::Observer& observer,
                          const std::atomic<int>& stop);

}  // namespace sweetspot::learning
