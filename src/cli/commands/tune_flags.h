#pragma once
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/tune_critical_batch.h"
#include "cli/flags/cluster_flags.h"
#include "cli/flags/study_flags.h"
#include "cli/flags/target_flags.h"
#include "cli/plan_ranks.h"
#include "cli/ranks.h"
#include "search/search.h"
#include "tuning/answer_checks.h"

namespace sweetspot::cli {

struct TuneFlags {
  StudyFlags study;
  TargetFlags target;
  search::Objective objective = search::Objective::throughput;
  std::int64_t min = 1, multiple_of = 1;
  std::optional<std::int64_t> max, global_batch, repeat;
  std::optional<tuning::Confirm> confirm;
  std::optional<double> slower_at_most;
  const CLI::Option* tolerance = nullptr;
  bool no_report = false;
  LearningRateFlags learning_rate;
  ClusterFlags cluster;
  CriticalBatchFlags critical;
  PlanFlags plan;
  RankFlags ranks;
};
void add_tune_flags(CLI::App& command, const std::shared_ptr<TuneFlags>& flags);

// InputError for incompatible flags.
void check_objective(const TuneFlags& flags);
void check_global_batch(const TuneFlags& flags);
void check_target(const TuneFlags& flags);
void check_critical_batch(const CLI::App& command);

}  // namespace sweetspot::cli
