#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/power_guard.h"
#include "cli/study_workload.h"

namespace sweetspot::cli {

// "fp32,bf16": several, or none, which is the workload's own. What the engine does not support on
// its device, or a program ignores, is an error before anything is measured.
std::vector<std::string> parse_precisions(const std::string& text, const StudyFlags& flags,
                                          const StudyWorkload& opened);

// Power limits to set, and their guard.
struct Limited {
  std::vector<unsigned> gpus;
  std::vector<double> watts;          // descending; empty: unchanged
  std::unique_ptr<PowerGuard> guard;  // null likewise
  std::string refusal;                // why they could not be set although requested; may be empty
};
// InputError if a limit is out of range.
Limited limit_power(const StudyFlags& flags, const StudyWorkload& opened);

// Each precision with each power limit; without any, the base's own.
std::vector<trial::Setting> variants_of(const trial::Setting& base,
                                        const std::vector<std::string>& precisions,
                                        const std::vector<double>& watts);

}  // namespace sweetspot::cli
