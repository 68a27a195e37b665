#include "workload/command/unseen_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sweetspot::workload::command {
namespace {

// It was read by this expression from these very lines. Whether it counts steps the user knows.
std::string paste(const output::Suggestion& suggestion) {
  const bool counts_samples = suggestion.regex.find("(?<samples>") != std::string::npos;
  return fmt::format(
      "add --steps-regex '{}' if the number that rises in its lines (…, {}) counts {}",
      suggestion.regex, fmt::join(suggestion.values, ", "),
      counts_samples ? "samples of the training"
                     : "training steps, or with (?<samples> for its ( if samples");
}

}  // namespace

std::string how_to_show_steps(const output::Suggestion& suggestion) {
  using Kind = output::Suggestion::Kind;
  const std::string ways =
      "print a line like 'step 20' every few steps, add the client's one line to its loop "
      "(docs/programs.md), or time whole runs with --samples-per-run";
  switch (suggestion.kind) {
    case Kind::paste_regex:
      return paste(suggestion);
    case Kind::validation:
      return "its lines look like those of a validation or a test: if they are the training's, " +
             paste(suggestion);
    case Kind::each_validates:
      return ways +
             ": each line of its counter comes with a new validation, whose time is not the "
             "training's";
    case Kind::epochs_only:
      return ways + ": it counts epochs, and how many steps each has is not said";
    case Kind::percent_only:
      return ways + ": it prints percentages, and of how many steps is not said";
    case Kind::environment:
      return ways +
             ": it counts episodes or steps of an environment, and how many of them make an update "
             "is not said";
    case Kind::nothing_rises:
      return ways + ": no number rises in what it prints";
    case Kind::too_few_lines:
      break;
  }
  return ways;
}

}  // namespace sweetspot::workload::command
