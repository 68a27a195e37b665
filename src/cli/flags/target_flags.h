#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "advise/advise.h"
#include "cli/flags/study_flags.h"
#include "convergence/learning_rate_rule.h"
#include "study/tune.h"
#include "trial/target.h"

namespace sweetspot::cli {

// How the learning rate of an answer is found from the one that was given.
struct LearningRateFlags {
  std::optional<convergence::LearningRateRule> rule;
  std::optional<std::int64_t> batch;
  bool check = false;
};
void add_learning_rate_flags(CLI::App& app, LearningRateFlags& flags);

// What it is found from, of our own engines; nothing of a program, whose learning rate is its own.
// InputError where flags were given that do nothing.
std::optional<advise::LearningRateBase> learning_rate_base(const LearningRateFlags& flags,
                                                           const StudyFlags& study);

}  // namespace sweetspot::cli

namespace CLI {
class App;
}

namespace sweetspot::store {
class Store;
}

namespace sweetspot::cli {

class Output;
struct StudyFlags;
struct StudyWorkload;

// Of `tune --for accuracy=0.99`: what is to be reached, and how it is looked for.
struct TargetFlags {
  std::optional<trial::Target> target;  // nothing: tune is for something else
  bool for_energy = false;
  int seeds = 3;
  std::optional<int> finalists = 4;  // nothing: all
  int most_epochs = 20;
  std::int64_t base_batch = 100;  // that --lr suits: train's own
  std::optional<convergence::LearningRateRule> rule;
};
void add_target_flags(CLI::App& app, TargetFlags& flags);
// Whether this goal of --for is a target: "accuracy=0.99", "accuracy=99%", "loss=0.1",
// "energy-to-accuracy=0.99". InputError where it begins as one and is none.
bool read_target(const std::string& goal, TargetFlags& flags);

// After the speeds are known: predicts and trains, prints the answer, and returns the exit code.
// `asked_max`: --max, where it was given.
int tune_to_target(const TargetFlags& flags, const StudyFlags& study,
                   const study::TuneOptions& tuned, const study::TuneResult& speeds,
                   const std::optional<std::int64_t>& asked_max, bool leaves_report,
                   store::Store& store, Output& output);

}  // namespace sweetspot::cli
