#pragma once
#include "cli/flags/study_flags.h"

namespace sweetspot::cli {

class Output;

// The flags of `tune --critical-batch`.
struct CriticalBatchFlags {
  bool asked = false;
  std::optional<std::int64_t> least, most;  // --min, --max
  std::optional<std::int64_t> epochs, samples;
  int seeds = 3;
  std::optional<convergence::LearningRateRule> rule;
  std::optional<std::filesystem::path> load;
};
void add_critical_batch_flags(CLI::App& app, CriticalBatchFlags& flags);

int tune_critical_batch(const StudyFlags& study, const CriticalBatchFlags& flags, Output& output);

}  // namespace sweetspot::cli
