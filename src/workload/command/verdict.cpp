#include "workload/command/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "core/text.h"
#include "workload/command/failure.h"
#include "workload/command/unseen_steps.h"

namespace sweetspot::workload::command {
namespace {

using trial::Outcome;

constexpr int killed_as_a_shell_tells = 128 + SIGKILL;
// The first one warms up, and an interval needs two.
constexpr std::int64_t fewest_steps = 3;

std::string way_out(const Evidence& evidence) {
  const std::string gave_up = regex_note(evidence.findings);
  return gave_up.empty() ? how_to_show_steps(evidence.suggestion) : gave_up;
}

bool was_killed(const process::Ending& ending) {
  return ending.signal == SIGKILL || ending.exit_code == killed_as_a_shell_tells;
}

// Sent from outside as a rule: a program's own faults have other signals.
bool was_told_to_stop(const process::Ending& ending) {
  return ending.signal == SIGTERM || ending.signal == SIGINT || ending.signal == SIGHUP;
}

std::string bad_lines_note(const Evidence& evidence) {
  if (evidence.bad_client_lines == 0) return "";
  return fmt::format(" ({} lines of its client could not be used)", evidence.bad_client_lines);
}

// It did as it was told: that nothing can be said of it is no crash.
Ended without_enough_steps(const Evidence& evidence) {
  const std::string seen =
      evidence.steps == 0
          ? "made no step that could be seen"
          : fmt::format("no more than {} step{} could be seen, of the {} it takes to measure",
                        evidence.steps, evidence.steps == 1 ? "" : "s", fewest_steps);
  return {Outcome::refused, fmt::format("it exited with 0 and {}{}; {}", seen,
                                        bad_lines_note(evidence), way_out(evidence))};
}

}  // namespace

Ended lacked_memory(const Evidence& evidence) {
  const std::string figures = evidence.findings.memory_message.in_short();
  return {Outcome::out_of_memory, figures.empty() ? *evidence.findings.memory_evidence : figures};
}

Ended verdict(const Evidence& evidence) {
  const process::Ending& ending = evidence.ending;
  if (evidence.findings.memory_evidence) return lacked_memory(evidence);
  if (ending.exit_code == 0)
    return evidence.steps >= fewest_steps ? Ended(Outcome::ok, "it came to its end")
                                          : without_enough_steps(evidence);
  const std::string reason = failure_reason(ending, evidence.last_output);
  if (ending.oom_killed)
    return {Outcome::out_of_memory, "the kernel killed it for want of memory: " + reason};
  if (was_killed(ending)) return {Outcome::killed, reason + ", cause unknown"};
  return {was_told_to_stop(ending) ? Outcome::killed : Outcome::crashed, reason};
}

Ended unrecognised(const Evidence& evidence, core::Seconds after) {
  return {Outcome::refused,
          fmt::format("no step was recognised in {} lines over {}{}; {}",
                      core::format_count(static_cast<double>(evidence.findings.lines)),
                      core::format_duration(after), bad_lines_note(evidence), way_out(evidence))};
}

// Start-ups talk too: a quarter of the timeout, or of the budget, is enough to tell. A number that
// rises and is not read makes it sure sooner.
bool prints_in_vain(std::int64_t talking_seconds, output::Suggestion::Kind kind,
                    core::Seconds timeout, std::optional<core::Seconds> budget) {
  const bool rises = kind == output::Suggestion::Kind::paste_regex;
  double patience = timeout.count() / (rises ? 12 : 4);
  if (budget) patience = std::min(patience, budget->count() / (rises ? 8 : 4));
  constexpr double least_seconds = 3;  // a few lines are no talk
  return static_cast<double>(talking_seconds) >= std::max(patience, least_seconds);
}

std::string cut_off(const Evidence& evidence) {
  if (evidence.findings.lines == 0) return "the budget ended before it had printed anything";
  return fmt::format("the budget ended before a step was recognised in {} lines; {}",
                     core::format_count(static_cast<double>(evidence.findings.lines)),
                     way_out(evidence));
}

Ended timed_out(const Evidence& evidence, core::Seconds timeout) {
  if (evidence.findings.memory_evidence) return lacked_memory(evidence);
  const std::string waited = core::format_duration(timeout);
  if (evidence.steps > 0)
    return {
        Outcome::timed_out,
        fmt::format("it made no further step for {}{}", waited,
                    evidence.findings.regex_gave_up ? "; " + regex_note(evidence.findings) : "")};
  return {Outcome::timed_out, fmt::format("no step was seen for {}{}; raise --timeout, or {}",
                                          waited, bad_lines_note(evidence), way_out(evidence))};
}

std::string regex_note(const output::Findings& findings) {
  if (!findings.regex_gave_up) return "";
  return "--steps-regex was given up because it took too long on too many lines; write one without "
         "a repetition inside a repetition";
}

}  // namespace sweetspot::workload::command
