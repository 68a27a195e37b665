#include "workload/command/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "core/text.h"
#include "workload/command/output/tail.h"

namespace sweetspot::workload::command {
namespace {

constexpr std::string_view traceback = "Traceback (most recent call last):";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

// The first line after the last traceback that is not part of it. Launchers prefix each line
// ("[rank0]: "), and after a child's traceback add one of their own that says less.
std::optional<std::string_view> exception_of(const std::vector<std::string_view>& lines) {
  constexpr std::string_view launchers = "ChildFailedError";
  std::optional<std::string_view> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t prefix = lines[i].find(traceback);
    if (prefix == std::string_view::npos) continue;
    const std::string_view before = lines[i].substr(0, prefix);
    for (std::size_t next = i + 1; next < lines.size(); ++next) {
      std::string_view line = lines[next];
      if (line.starts_with(before)) line.remove_prefix(prefix);
      if (line.empty() || line.front() == ' ' || line.find(traceback) != line.npos) continue;
      if (!found || line.find(launchers) == line.npos) found = line;
      break;
    }
  }
  return found;
}

std::string signal_words(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return fmt::format("signal {} ({})", name ? fmt::format("SIG{}", name) : std::to_string(signal),
                     ::strsignal(signal));
}

}  // namespace

bool is_bar(std::string_view line) {
  return line.find("%|") != line.npos || line.find("it/s") != line.npos ||
         line.find("s/it") != line.npos;
}

std::string telling_line(std::string_view last_output) {
  constexpr std::size_t longest = 160;
  const std::vector<std::string_view> lines = lines_of(last_output);
  std::string_view telling;
  if (const auto exception = exception_of(lines)) {
    telling = *exception;
  } else {
    for (const std::string_view line : lines)
      if (!core::trimmed(line).empty() && !is_bar(line)) telling = line;
    for (const std::string_view line : lines)
      if (const std::size_t what = line.find("what():"); what != line.npos)
        telling = line.substr(what + std::string_view("what():").size());
  }
  return output::printable_line(core::trimmed(telling), longest);
}

std::string failure_reason(const process::Ending& ending, std::string_view last_output) {
  if (ending.signal) return signal_words(*ending.signal);
  const int code = ending.exit_code.value_or(0);
  constexpr int as_a_shell_tells = 128;
  std::string text = fmt::format("exit code {}", code);
  if (code > as_a_shell_tells && ::sigabbrev_np(code - as_a_shell_tells))
    return fmt::format("{}, {}", text, signal_words(code - as_a_shell_tells));
  const std::string line = telling_line(last_output);
  return line.empty() ? text : fmt::format("{}: {}", text, line);
}

namespace {

// This expression was tested on these very lines. The user knows whether it counts steps.
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

namespace {

using trial::Outcome;

constexpr int killed_as_a_shell_tells = 128 + SIGKILL;
// The first one is warm-up, and an interval needs two.
constexpr std::int64_t fewest_steps = 3;

std::string way_out(const ProgramEnd& at_end) {
  const std::string gave_up = regex_note(at_end.findings);
  return gave_up.empty() ? how_to_show_steps(at_end.suggestion) : gave_up;
}

bool was_killed(const process::Ending& ending) {
  return ending.signal == SIGKILL || ending.exit_code == killed_as_a_shell_tells;
}

// Usually sent from outside: a program's own faults have other signals.
bool was_told_to_stop(const process::Ending& ending) {
  return ending.signal == SIGTERM || ending.signal == SIGINT || ending.signal == SIGHUP;
}

std::string bad_lines_note(const ProgramEnd& at_end) {
  if (at_end.bad_client_lines == 0) return "";
  return fmt::format(" ({} lines of its client could not be used)", at_end.bad_client_lines);
}

// It ended normally: a lack of information is not a crash.
Ended without_enough_steps(const ProgramEnd& at_end) {
  const std::string seen =
      at_end.steps == 0
          ? "made no step that could be seen"
          : fmt::format("no more than {} step{} could be seen, of the {} it takes to measure",
                        at_end.steps, at_end.steps == 1 ? "" : "s", fewest_steps);
  return {Outcome::refused, fmt::format("it exited with 0 and {}{}; {}", seen,
                                        bad_lines_note(at_end), way_out(at_end))};
}

// Its output shows it.
Ended lacked_memory(const ProgramEnd& at_end) {
  const std::string figures = at_end.findings.memory_message.in_short();
  return {Outcome::out_of_memory, figures.empty() ? *at_end.findings.memory_evidence : figures};
}

Ended failed_without_a_step(const std::string& what, const ProgramEnd& at_end) {
  const std::string line = telling_line(at_end.last_output);
  return {Outcome::crashed, what + " before a step" + (line.empty() ? "" : ": " + line)};
}

}  // namespace

Ended verdict(const ProgramEnd& at_end) {
  const process::Ending& ending = at_end.ending;
  if (at_end.findings.memory_evidence) return lacked_memory(at_end);
  if (ending.exit_code == 0)
    return at_end.steps >= fewest_steps ? Ended(Outcome::ok, "it came to its end")
                                        : without_enough_steps(at_end);
  const std::string reason = failure_reason(ending, at_end.last_output);
  if (ending.oom_killed)
    return {Outcome::out_of_memory, "the kernel killed it for want of memory: " + reason};
  if (was_killed(ending)) return {Outcome::killed, reason + ", cause unknown"};
  return {was_told_to_stop(ending) ? Outcome::killed : Outcome::crashed, reason};
}

Ended unrecognised(const ProgramEnd& at_end, core::Seconds after) {
  return {Outcome::refused,
          fmt::format("no step was recognised in {} lines over {}{}; {}",
                      core::format_count(static_cast<double>(at_end.findings.lines)),
                      core::format_duration(after), bad_lines_note(at_end), way_out(at_end))};
}

// Start-ups print too: a quarter of the timeout, or of the budget, is enough to decide. An unread
// number that rises decides sooner.
bool prints_in_vain(std::int64_t talking_seconds, output::Suggestion::Kind kind,
                    core::Seconds timeout, std::optional<core::Seconds> budget) {
  const bool rises = kind == output::Suggestion::Kind::paste_regex;
  double patience = timeout.count() / (rises ? 12 : 4);
  if (budget) patience = std::min(patience, budget->count() / (rises ? 8 : 4));
  constexpr double least_seconds = 3;  // a few lines do not count
  return static_cast<double>(talking_seconds) >= std::max(patience, least_seconds);
}

Ended asked_again(const ProgramEnd& at_end, bool starts_anew) {
  if (const auto& failed = at_end.failed) {
    MemoryMessage message;
    if (failed->outcome == Outcome::out_of_memory) message.read(failed->reason);
    const std::string figures = message.in_short();
    std::string note = figures.empty() ? failed->reason : figures;
    if (failed->kept > 0)  // the next batch would lack it
      note += fmt::format("; {} of memory did not come back{}", core::format_bytes(failed->kept),
                          starts_anew ? ", so the program is started anew" : "");
    return {failed->outcome, note};
  }
  if (at_end.steps > 0) return {Outcome::ok, "it went on to the next setting by itself"};
  if (at_end.findings.memory_evidence) return lacked_memory(at_end);
  return failed_without_a_step("it asked for the next setting", at_end);
}

Ended client_went_away(const ProgramEnd& at_end) {
  if (at_end.steps > 0) return {Outcome::ok, "its client went away"};
  return failed_without_a_step("its client went away", at_end);
}

Ended changed_its_batch(const ProgramEnd& at_end) {
  return {Outcome::refused, "it changed its batch by itself: " + *at_end.findings.changed_batch};
}

Ended stopped() { return {Outcome::cancelled, "it was stopped before it was measured"}; }

Ended out_of_time(const ProgramEnd& at_end) {
  constexpr std::int64_t fewest = 4;  // one to warm up, and three
  std::string note = "the budget ended before it was measured";
  if (at_end.steps == 0 && at_end.findings.lines == 0)
    note = "the budget ended before it had printed anything";
  else if (at_end.steps == 0)
    note = fmt::format("the budget ended before a step was recognised in {} lines; {}",
                       core::format_count(static_cast<double>(at_end.findings.lines)),
                       way_out(at_end));
  return {at_end.steps >= fewest ? Outcome::ok : Outcome::cancelled, note,
          trial::StopReason::time_limit};
}

Ended timed_out(const ProgramEnd& known, core::Seconds timeout) {
  if (known.findings.memory_evidence) return lacked_memory(known);
  const std::string waited = core::format_duration(timeout);
  if (known.steps > 0)
    return {Outcome::timed_out,
            fmt::format("it made no further step for {}{}", waited,
                        known.findings.regex_gave_up ? "; " + regex_note(known.findings) : "")};
  return {Outcome::timed_out, fmt::format("no step was seen for {}{}; raise --timeout, or {}",
                                          waited, bad_lines_note(known), way_out(known))};
}

std::string regex_note(const output::Findings& findings) {
  if (!findings.regex_gave_up) return "";
  return "--steps-regex was given up because it took too long on too many lines; write one without "
         "a repetition inside a repetition";
}

}  // namespace sweetspot::workload::command
