#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/power_guard.h"
#include "cli/study_workload.h"

namespace sweetspot::cli {

// "fp32,bf16". What the engine cannot do on its device, or a program takes no notice of, is told
// before anything is measured.
std::vector<std::string> parse_precisions(const std::string& text, const StudyFlags& flags,
                                          const StudyWorkload& opened);

// Power limits that are to be set, and by whom.
struct Limited {
  std::vector<unsigned> gpus;
  std::vector<double> watts;          // descending; empty: they stay as they are set
  std::unique_ptr<PowerGuard> guard;  // null likewise
  std::string refusal;                // why they could not be set though asked for; may be empty
};
// InputError where a limit is out of range.
Limited limit_power(const StudyFlags& flags, const StudyWorkload& opened);

// Each precision with each power limit, which may be none.
std::vector<trial::Setting> variants_of(const trial::Setting& base,
                                        const std::vector<std::string>& precisions,
                                        const std::vector<double>& watts);

}  // namespace sweetspot::cli
