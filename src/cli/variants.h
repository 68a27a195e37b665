#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/power_guard.h"
#include "cli/study_workload.h"

namespace sweetspot::cli {

// "fp32,bf16"
void read_precisions(const std::string& text, StudyFlags& flags);
// The values to try. What the engine does not support on its device, or a program ignores, is an
// error before anything is measured.
trial::Tried checked_tried(const StudyFlags& flags, const StudyWorkload& opened);

// Power limits to set, and their guard.
struct Limited {
  std::vector<unsigned> gpus;
  std::unique_ptr<PowerGuard> guard;  // null: unchanged
  std::string refusal;                // why they could not be set although requested; may be empty
};
// InputError if a limit is out of range.
Limited limit_power(const StudyFlags& flags, const StudyWorkload& opened);

}  // namespace sweetspot::cli
