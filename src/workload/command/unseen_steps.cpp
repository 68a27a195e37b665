#include "workload/command/unseen_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sweetspot::workload::command {
namespace {

// It was read by this expression from these very lines. Whether it counts steps the user knows.
std::string paste(const output::Suggestion& suggestion) {
  const bool counts_samples = suggestion.regex.find("(?<samples>") != std::string::npos;
  return fmt::format("a number rises in its lines (…, {}): {}add --steps-regex '{}'{}",
                     fmt::join(suggestion.values, ", "),
                     counts_samples ? "" : "if it counts training steps, ", suggestion.regex,
                     counts_samples ? "" : ", and if samples, with (?<samples> for its (");
}

}  // namespace

std::string how_to_show_steps(const output::Suggestion& suggestion) {
  using Kind = output::Suggestion::Kind;
  constexpr auto ways =
      "print a line like 'step 20' every few steps, add the client's one line to its loop "
      "(docs/programs.md), or time whole runs with --samples-per-run";
  switch (suggestion.kind) {
    case Kind::paste_regex:
      return paste(suggestion);
    case Kind::each_validates:
      return fmt::format(
          "each line of its counter comes with a new validation, whose time is not the training's; "
          "{}",
          ways);
    case Kind::epochs_only:
      return fmt::format("it counts epochs, and how many steps each has is not said; {}", ways);
    case Kind::percent_only:
      return fmt::format("it prints percentages, and of how many steps is not said; {}", ways);
    case Kind::nothing_rises:
      return fmt::format("no number rises in what it prints; {}", ways);
    case Kind::too_few_lines:
      break;
  }
  return ways;
}

}  // namespace sweetspot::workload::command
