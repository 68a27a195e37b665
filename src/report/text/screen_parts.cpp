#include "report/text/screen_parts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "report/text/table.h"

namespace sweetspot::report {
namespace {

constexpr std::string_view indent = "  ";

// The words of a command line, as they are quoted.
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

// What cannot be shown is replaced before anything is measured.
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

}  // namespace sweetspot::report
