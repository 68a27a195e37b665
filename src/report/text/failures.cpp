#include "report/text/failures.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "core/text.h"

namespace sweetspot::report {
namespace {

std::vector<std::string> last_of(const std::string& text, std::size_t most) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(core::printable(line));
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<long>(most));
  return lines;
}

}  // namespace

std::vector<Failure> failures(const ShownStudy& study, std::size_t most, std::size_t most_lines) {
  std::vector<Failure> list;
  std::set<std::string> told;
  for (std::size_t i = 0; i < study.trials.size() && list.size() < most; ++i) {
    const trial::Trial& trial = study.trials[i];
    if (trial.last_output.empty() || !told.insert(trial.note).second) continue;
    list.push_back(
        {fmt::format("The last lines of batch {}, trial {}:",
                     core::format_count(static_cast<double>(size_of(trial, study))), i + 1),
         last_of(trial.last_output, most_lines)});
  }
  return list;
}

std::string failures_text(const std::vector<Failure>& list) {
  std::string text;
  for (const Failure& failure : list) {
    text += "\n" + failure.title + "\n";
    for (const std::string& line : failure.lines) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace sweetspot::report
