#pragma once
#include <string>
#include <vector>

#include "report/shown_study.h"

namespace sweetspot::report {

// The last output of a failed program; of several trials with the same reason, the first's.
struct Failure {
  std::string title;  // "The last lines of batch 64, trial 3:"
  std::vector<std::string> lines;
};
constexpr std::size_t last_lines_shown = 10;
std::vector<Failure> failures(const ShownStudy& study, std::size_t most,
                              std::size_t most_lines = last_lines_shown);

// Indented, with a blank line before each; empty if there are none.
std::string failures_text(const std::vector<Failure>& list);

}  // namespace sweetspot::report
