#include "workload/command/failure.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "core/text.h"
#include "workload/command/output/printable.h"

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

// The first line behind the last traceback that is not part of it. Launchers write something before
// each line ("[rank0]: "), and after a child's traceback add one of their own that says less.
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

}  // namespace sweetspot::workload::command
