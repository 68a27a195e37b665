#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "advise/advise.h"
#include "cli/flags/study_flags.h"
#include "convergence/learning_rate_rule.h"
#include "trial/target.h"

namespace sweetspot::cli {

// How the learning rate of an answer is derived from the given one.
struct LearningRateFlags {
  std::optional<convergence::LearningRateRule> rule;
  std::optional<std::int64_t> batch;
  bool check = false;
};
void add_learning_rate_flags(CLI::App& app, LearningRateFlags& flags);

// Its base for native models; nullopt for a program, which has its own learning rate. InputError
// for flags without effect.
std::optional<advise::LearningRateBase> learning_rate_base(const LearningRateFlags& flags,
                                                           const StudyFlags& study);

// `tune --for accuracy=0.99`: the target, and how it is searched.
struct TargetFlags {
  std::optional<trial::Target> target;  // nullopt: tune has another goal
  bool for_energy = false;
  int seeds = 3;
  std::optional<int> finalists = 4;  // nullopt: all
  int most_epochs = 20;
  std::int64_t base_batch = 100;  // the batch of --lr: train's default
  std::optional<convergence::LearningRateRule> rule;
};
void add_target_flags(CLI::App& app, TargetFlags& flags);
// Whether this goal of --for is a target: "accuracy=0.99", "accuracy=99%", "loss=0.1",
// "energy-to-accuracy=0.99". InputError if it begins as one and is invalid.
bool read_target(const std::string& goal, TargetFlags& flags);

}  // namespace sweetspot::cli
