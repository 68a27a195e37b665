#include "report/table.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace sweetspot::report {
std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t columns = 0; at < text.size() && columns < width; ++columns)
    at += std::max<std::size_t>(1, core::printable_bytes(text.substr(at)));
  return at;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_)
    column.width = std::max(column.width, display_width(column.title));
}

void Table::add(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].width = std::max(columns_[i].width, display_width(cells[i]));
  rows_.push_back(std::move(cells));
}

std::string Table::line(const std::vector<std::string>& cells) const {
  std::string text = "|";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string padding(columns_[i].width - display_width(cells[i]), ' ');
    text += " " + (columns_[i].left ? cells[i] + padding : padding + cells[i]) + " |";
  }
  return text + "\n";
}

std::string Table::head() const {
  std::vector<std::string> titles;
  std::string rule = "|";
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    rule +=
        (column.left ? ":" : "-") + std::string(column.width, '-') + (column.left ? "-|" : ":|");
  }
  return line(titles) + rule + "\n";
}

std::string Table::last_row() const { return line(rows_.back()); }

std::string Table::text() const {
  std::string text = head();
  for (const auto& row : rows_) text += line(row);
  return text;
}

void Table::fit(std::size_t most_width) {
  constexpr std::size_t least_of_words = 16;
  const auto width = [&] {
    std::size_t sum = 1;
    for (const Column& column : columns_) sum += column.width + 3;
    return sum;
  };
  const auto cut = [&](Column& column, std::size_t to) {
    column.width = to;
    for (auto& row : rows_) {
      std::string& cell = row[static_cast<std::size_t>(&column - columns_.data())];
      if (display_width(cell) > to) cell = cell.substr(0, fitting(cell, to - 1)) + "…";
    }
  };
  for (Column& column : columns_)
    if (column.left && width() > most_width && column.width > least_of_words)
      cut(column,
          std::max(least_of_words, column.width - std::min(column.width, width() - most_width)));
  for (std::size_t i = columns_.size(); i-- > 0 && width() > most_width;) {
    if (!columns_[i].optional) continue;
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : rows_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::string line; !text.empty();) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, fitting(text.substr(0, end), width));
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width)
      lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : " ") + std::string(word);
    const bool was_cut = word.size() < end;
    text.remove_prefix(word.size());
    if (!was_cut && !text.empty()) text.remove_prefix(1);
    if (was_cut || text.empty()) lines.push_back(std::exchange(line, ""));
  }
  return lines;
}

}  // namespace sweetspot::report
