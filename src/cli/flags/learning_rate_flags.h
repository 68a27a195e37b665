#pragma once
#include <cstdint>
#include <optional>

#include "advise/advise.h"
#include "cli/flags/study_flags.h"

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
