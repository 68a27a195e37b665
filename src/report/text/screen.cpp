#include "report/text/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "report/formats.h"
#include "report/table.h"
#include "report/text/answer_table.h"
#include "report/text/failures.h"
#include "report/text/summary.h"
#include "report/text/target_table.h"

namespace sweetspot::report {
namespace {

constexpr std::string_view indent = "  ";

// The words of a command line, quoted.
Lines shell_words(const std::string& command) {
  Lines list(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == '\'') is_quoted = !is_quoted;
    if (command[i] == ' ' && !is_quoted) {
      list.emplace_back();
      continue;
    }
    list.back() += command[i];
    if (command[i] == '\\' && !is_quoted && i + 1 < command.size()) list.back() += command[++i];
  }
  return list;
}

std::size_t table_width(const std::vector<ScreenColumn>& columns, bool is_short, std::size_t gap) {
  std::size_t width = indent.size() - gap;  // the first column has no gap before it
  for (const ScreenColumn& column : columns) width += gap + column.width(is_short);
  return width;
}

std::string padded(const std::string& cell, std::size_t width, bool left) {
  const std::string padding(width - std::min(width, display_width(cell)), ' ');
  return left ? cell + padding : padding + cell;
}

}  // namespace

std::string plain(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> substitutes{
      {{"▸", ">"}, {"–", "-"}, {"−", "-"}, {"±", "+-"}, {"µ", "u"}, {"×", "x"}, {"…", "..."}}};
  for (const auto& [from, to] : substitutes)
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

// Unprintable characters are replaced before anything is measured.
std::string said(const std::string& text, const ScreenOptions& options) {
  return options.utf8 ? text : plain(text);
}

Lines command_lines(const std::string& command, std::size_t width) {
  constexpr std::size_t most_command_lines = 4;
  if (command.empty()) return {};
  Lines lines{" "};
  for (const std::string& word : shell_words(command)) {
    constexpr std::size_t continued = 2;  // " \\" at the end
    if (display_width(lines.back()) + 1 + display_width(word) + continued > width &&
        lines.back() != " ")
      lines.back() += " \\", lines.emplace_back("   ");
    lines.back() += " " + word;
  }
  const std::string whole = "  " + command;
  if (display_width(whole) <= width || lines.size() > most_command_lines) return {whole};
  return lines;
}

std::size_t ScreenColumn::width(bool is_short) const {
  std::size_t most = display_width(is_short ? short_title : title);
  for (const std::string& cell : cells) most = std::max(most, display_width(cell));
  return most;
}

Lines table_lines(std::vector<ScreenColumn> columns, const std::vector<std::string>& failures,
                  const ScreenOptions& options) {
  constexpr std::size_t least_columns = 2;
  const std::size_t width = options.width;
  bool is_short = false;
  std::size_t gap = 3;
  while (gap > 2 && table_width(columns, is_short, gap) > width) --gap;
  is_short = table_width(columns, is_short, gap) > width;
  while (gap > 1 && table_width(columns, is_short, gap) > width) --gap;
  while (columns.size() > least_columns && table_width(columns, is_short, gap) > width)
    columns.pop_back();
  Lines text;
  const auto add = [&](const auto& cell_of, std::size_t count) {
    std::string line(indent);
    for (std::size_t i = 0; i < count; ++i)
      line += std::string(i == 0 ? 0 : gap, ' ') +
              padded(cell_of(columns[i]), columns[i].width(is_short), columns[i].left);
    line.erase(line.find_last_not_of(' ') + 1);
    text.push_back(line);
  };
  add([&](const ScreenColumn& column) { return is_short ? column.short_title : column.title; },
      columns.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    add([&](const ScreenColumn& column) { return column.cells[i]; },
        failures[i].empty() ? columns.size() : 1);
    if (failures[i].empty()) continue;
    text.back() += std::string(gap, ' ') + said(failures[i], options);
    const std::string more = said("…", options);
    if (display_width(text.back()) > width)
      text.back() = text.back().substr(0, fitting(text.back(), width - display_width(more))) + more;
  }
  return text;
}

Lines why_lines(std::span<const std::string> reasons, std::size_t width) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "Why: " : "; ") + reason;
  return text.empty() ? Lines{} : wrapped(text + ".", width);
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

namespace {

constexpr std::size_t most_lines = 20;

// The most important rows: the chosen, the best, the ends, and the neighbours of the chosen.
std::vector<AnswerLine> kept_lines(const advise::Recommendation& made, const AnswerTable& table,
                                   std::size_t most) {
  const std::size_t all = table.lines.size();
  if (all <= most) return table.lines;
  const auto place = [&](std::int64_t batch) {
    const auto found = std::ranges::find(table.lines, batch, &AnswerLine::size);
    return static_cast<std::size_t>(found - table.lines.begin());
  };
  const std::size_t chosen = place(made.batch);
  std::set<std::size_t> kept;
  const auto keep = [&](std::size_t i) {
    if (i < all && kept.size() < most) kept.insert(i);
  };
  for (const std::size_t i : {chosen, place(made.best_batch), std::size_t{0}, all - 1}) keep(i);
  for (std::size_t away = 1; away < all && kept.size() < most; ++away)
    keep(chosen + away), keep(chosen - std::min(chosen, away));
  std::vector<AnswerLine> lines;
  for (const std::size_t i : kept) lines.push_back(table.lines[i]);
  return lines;
}

// What is beside the words of a column has one width.
std::vector<ScreenColumn> screen_columns(const AnswerTable& table,
                                         const std::vector<AnswerLine>& lines,
                                         const ScreenOptions& options) {
  std::vector<ScreenColumn> columns{{table.batch_title, table.batch_title, false, {}}};
  for (const AnswerLine& line : lines)
    columns[0].cells.push_back(said((line.chosen ? "▸ " : "") + line.batch, options));
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const AnswerColumn& column = table.columns[i];
    std::size_t aside = 0;
    for (const AnswerLine& line : lines)
      aside = std::max(aside, display_width(line.cells[i].aside));
    std::vector<std::string> cells;
    for (const AnswerLine& line : lines) {
      const advise::Cell& cell = line.cells[i];
      std::string words = cell.words;
      if (aside > 0 && !words.empty())
        words += " " + cell.aside + std::string(aside - display_width(cell.aside), ' ');
      cells.push_back(said(words, options));
    }
    columns.push_back({column.title, column.short_title, column.left, std::move(cells)});
  }
  return columns;
}

// What the sentence and its parenthesis already say is omitted.
bool is_shown(advise::Reason reason, const advise::Recommendation& made) {
  if (reason == advise::Reason::knee || reason == advise::Reason::accumulation ||
      reason == advise::Reason::energy)
    return false;
  return reason != advise::Reason::memory || made.limited_by == advise::Bottleneck::memory_capacity;
}

Lines shown_reasons(const advise::Recommendation& made, const ScreenOptions& options) {
  Lines list;
  for (const advise::Reason reason : made.reasons)
    if (is_shown(reason, made)) list.push_back(said(words(reason, made), options));
  return list;
}

bool could_be_surer(const advise::Recommendation& made) {
  constexpr double small_regret = 0.005;  // of the throughput: such answers are equal
  return made.objective != search::Objective::max_batch && made.cut_short != trial::End::stopped &&
         made.regret > small_regret;
}

Lines footer(const advise::Recommendation& made, const ScreenOptions& options) {
  Lines parts;
  if (!options.more_certain.empty() && could_be_surer(made))
    parts.push_back("More certain: " + options.more_certain);
  if (!options.page.empty()) parts.push_back("Page: " + core::printable(options.page));
  if (!options.trials.empty()) parts.push_back("Every trial: " + core::printable(options.trials));
  Lines lines;
  for (const std::string& part : parts) {
    constexpr std::size_t gap = 4;
    if (!lines.empty() && display_width(lines.back()) + gap + display_width(part) <= options.width)
      lines.back() += std::string(gap, ' ') + part;
    else
      lines.push_back(part);
  }
  return lines;
}

Lines sentence_lines(const advise::Recommendation& made, const ScreenOptions& options) {
  const std::size_t width = options.width;
  Lines lines = wrapped(said(advise::sentence(made), options), width);
  const std::string others = said(advise::alike(made), options);
  if (others.empty()) return lines;
  const std::string aside = "(" + others + ")";
  if (lines.size() == 1 && display_width(lines[0]) + 3 + display_width(aside) <= width)
    lines[0] += "   " + aside;
  else
    for (const std::string& line : wrapped(aside, width - 2)) lines.push_back("  " + line);
  return lines;
}

std::string recommended(const advise::Recommendation& made, const ScreenOptions& options) {
  constexpr std::size_t most_rows = 10, few_rows = 4, fewest_rows = 2, few_reason_lines = 2;
  const Lines head = sentence_lines(made, options);
  const Lines command = command_lines(core::printable(made.command), options.width);
  Lines foot = footer(made, options), reasons = shown_reasons(made, options);
  Lines why = why_lines(reasons, options.width);
  const AnswerTable table = answer_table(made);
  std::size_t rows = std::min(most_rows, table.lines.size());
  const std::size_t fixed = head.size() + command.size() + 2;  // a blank line, the titles
  // What is dropped, and in which order.
  while (fixed + rows + why.size() + foot.size() > most_lines) {
    if (rows > few_rows)
      --rows;
    else if (why.size() > few_reason_lines && reasons.size() > 1)
      reasons.pop_back(), why = why_lines(reasons, options.width);
    else if (why.size() > few_reason_lines)
      why.pop_back();
    else if (rows > fewest_rows)
      --rows;
    else if (!foot.empty())
      foot.pop_back();
    else
      break;
  }
  const std::vector<AnswerLine> kept = kept_lines(made, table, rows);
  Lines failed;
  for (const AnswerLine& line : kept) failed.push_back(line.failure);
  const Lines body = table_lines(screen_columns(table, kept, options), failed, options);
  return joined(head) + joined(command) + "\n" + joined(body) + joined(why) + joined(foot);
}

}  // namespace

std::string screen(const ShownStudy& study, const ScreenOptions& options) {
  ScreenOptions sane = options;
  sane.width = std::max<std::size_t>(20, options.width);
  if (study.recommendation()) return recommended(*study.recommendation(), sane);
  if (study.to_target()) return target_screen(*study.to_target(), sane);
  const std::string known = sentence(study);
  std::string text;
  for (const std::string& words : {options.with_message ? study.answer.message : "", known})
    if (!words.empty())
      for (const std::string& line : wrapped(core::printable(words), sane.width))
        text += line + "\n";
  if (!study.trials.empty()) text += (text.empty() ? "" : "\n") + table(study);
  text += failures_text(failures(study, 1));
  return sane.utf8 ? text : plain(text);
}

}  // namespace sweetspot::report
