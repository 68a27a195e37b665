#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/text.h"
#include "report/fields.h"
#include "report/formats.h"
#include "report/table.h"
#include "report/text/answer_table.h"
#include "report/text/failures.h"
#include "report/text/summary.h"
#include "report/text/target_table.h"
#include "trial/trial.h"

namespace sweetspot::report {
namespace {

// A bar in a note would end its cell.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

// Foreign notes may have any length; CSV and JSON have all of them.
std::string clipped(const std::string& text) {
  constexpr std::size_t most_columns = 90;
  const std::size_t at = fitting(text, most_columns);
  return at == text.size() ? text : text.substr(0, at) + "…";
}

constexpr std::size_t most_failures = 3;

// A program's own lines may contain a fence: indented code needs none.
std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text;
}

struct Plain {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(const std::string& value) const { return core::printable(value); }
  std::string operator()(const auto& value) const { return fmt::format("{}", value); }
};

std::string rows_table(const advise::Recommendation& made) {
  const AnswerTable found = answer_table(made);
  std::vector<Column> columns{{found.batch_title}};
  for (const AnswerColumn& column : found.columns) columns.push_back({column.title, column.left});
  Table out(std::move(columns));
  for (const AnswerLine& line : found.lines) {
    std::vector<std::string> cells{line.batch};
    for (const auto& [words, aside] : line.cells)
      cells.push_back(aside.empty() ? words : words + " " + aside);
    if (!line.failure.empty()) cells.back() = line.failure;
    out.add(std::move(cells));
  }
  return out.text();
}

}  // namespace

std::string trials_table(const ShownStudy& study, std::size_t most_width) {
  constexpr std::size_t always_shown = 2;  // the batch and its speed
  const std::vector<Row> list = rows(study);
  std::vector<Column> columns;
  for (const Field& field : fields())
    if (is_shown(field, list))
      columns.push_back({field.title, field.left, 0, columns.size() >= always_shown});
  Table out(std::move(columns));
  for (const Row& row : list) {
    std::vector<std::string> cells;
    for (const Field& field : fields())
      if (is_shown(field, list)) cells.push_back(escaped(clipped(field.words(row))));
    out.add(std::move(cells));
  }
  out.fit(most_width);
  return out.text();
}

namespace {

// "cuda:0 (NVIDIA H200): 10.2 GiB of 139 GiB, busy 93%, 650 W, 1,980 MHz".
std::string gpu_words(const trial::GpuUse& gpu) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (gpu.memory_peak)
    add(core::format_bytes(*gpu.memory_peak) +
        (gpu.memory_free ? " of " + core::format_bytes(*gpu.memory_free) : ""));
  if (gpu.utilisation_share) add(fmt::format("busy {:.0f}%", 100 * *gpu.utilisation_share));
  if (gpu.power_watts) add(fmt::format("{:.0f} W", *gpu.power_watts));
  if (gpu.core_clock_mhz) add(core::format_count(*gpu.core_clock_mhz) + " MHz");
  if (gpu.energy_joules) add(core::format_joules(*gpu.energy_joules));
  return core::printable(trial::full_name(gpu)) + (text.empty() ? "" : ": " + text);
}

}  // namespace

std::string trial_text(const Row& row) {
  std::string text;
  for (const Field& field : fields()) {
    if (std::string_view(field.csv) == "last_output") continue;
    const std::string value = std::visit(Plain{}, field.value(row));
    if (!value.empty()) text += fmt::format("{:<26}{}\n", field.csv, value);
  }
  for (const trial::GpuUse& gpu : row.trial->gpus)
    text += fmt::format("{:<26}{}\n", "gpu", gpu_words(gpu));
  if (row.trial->last_output.empty()) return text;
  text += "\nThe last lines of the program:\n";
  std::istringstream lines(row.trial->last_output);
  for (std::string line; std::getline(lines, line);) text += "  " + core::printable(line) + "\n";
  return text;
}

std::string table(const ShownStudy& study) {
  if (study.to_target()) return target_markdown(*study.to_target());
  return study.recommendation() ? rows_table(*study.recommendation()) : trials_table(study);
}

namespace {

std::string reasons_and_command(const std::vector<std::string>& reasons,
                                const std::string& command) {
  std::string text = "\n";
  for (const std::string& reason : reasons) text += "- " + reason + "\n";
  if (!command.empty()) text += fmt::format("\n```sh\n{}\n```\n", core::printable(command));
  return text;
}

}  // namespace

std::string markdown(const ShownStudy& study) {
  std::string text = fmt::format("# Batch size of {}\n\n", core::printable(study.workload));
  const std::string words = sentence(study), &message = study.answer.message;
  if (!words.empty()) text += words + "\n\n";
  if (!message.empty() && message != words) text += message + "\n\n";
  text += table(study);
  for (const Failure& failure : failures(study, most_failures))
    text += fmt::format("\n{}\n\n{}", failure.title, indented(failure.lines));
  if (study.recommendation())
    text += reasons_and_command(reasons_in_words(*study.recommendation()),
                                study.recommendation()->command);
  else if (study.to_target())
    text += reasons_and_command(advise::reasons_in_words(*study.to_target()),
                                study.to_target()->command);
  return text;
}

}  // namespace sweetspot::report
