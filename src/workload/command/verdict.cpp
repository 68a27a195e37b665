#include "workload/command/verdict.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "core/text.h"
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

std::string manner(const process::Ending& ending) {
  if (ending.signal)
    return fmt::format("was ended by signal {} ({})", *ending.signal, ::strsignal(*ending.signal));
  return fmt::format("exited with {}", ending.exit_code.value_or(0));
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
  return {Outcome::refused,
          fmt::format("it exited with 0 and {}{}; {}{}", seen, bad_lines_note(evidence),
                      way_out(evidence), quoted_tail(evidence.last_output))};
}

}  // namespace

Ended verdict(const Evidence& evidence) {
  const process::Ending& ending = evidence.ending;
  const std::string tail = quoted_tail(evidence.last_output);
  if (evidence.findings.memory_evidence)
    return {Outcome::out_of_memory, *evidence.findings.memory_evidence};
  if (ending.exit_code == 0)
    return evidence.steps >= fewest_steps ? Ended(Outcome::ok, "it came to its end")
                                          : without_enough_steps(evidence);
  if (ending.oom_killed)
    return {Outcome::out_of_memory,
            fmt::format("the kernel killed it for want of memory: it {}", manner(ending))};
  if (was_killed(ending)) return {Outcome::killed, fmt::format("killed, cause unknown{}", tail)};
  return {was_told_to_stop(ending) ? Outcome::killed : Outcome::crashed,
          fmt::format("it {}{}", manner(ending), tail)};
}

Ended timed_out(const Evidence& evidence, core::Seconds timeout) {
  if (evidence.findings.memory_evidence)
    return {Outcome::out_of_memory, *evidence.findings.memory_evidence};
  const std::string tail = quoted_tail(evidence.last_output);
  const std::string waited = core::format_duration(timeout);
  if (evidence.steps > 0)
    return {Outcome::timed_out,
            fmt::format("it made no further step for {}{}{}", waited,
                        evidence.findings.regex_gave_up ? "; " + regex_note(evidence.findings) : "",
                        tail)};
  return {Outcome::timed_out,
          fmt::format("no step was seen for {}{}; raise --timeout, or {}{}", waited,
                      bad_lines_note(evidence), way_out(evidence), tail)};
}

std::string regex_note(const output::Findings& findings) {
  if (!findings.regex_gave_up) return "";
  return "--steps-regex was given up because it took too long on too many lines; write one without "
         "a repetition inside a repetition";
}

std::string quoted_tail(const std::string& last_output) {
  constexpr std::size_t longest = 600;
  std::size_t from = last_output.size() > longest ? last_output.size() - longest : 0;
  while (from < last_output.size() &&
         (static_cast<unsigned char>(last_output[from]) & 0xc0) == 0x80)
    ++from;  // whole letters
  std::string line;
  for (const char c : last_output.substr(from)) line += c == '\n' ? ' ' : c;
  while (line.ends_with(' ')) line.pop_back();
  return line.empty() ? "" : fmt::format("; its last output: {}", line);
}

}  // namespace sweetspot::workload::command
