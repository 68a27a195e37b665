#include "report/table.h"

#include <algorithm>

namespace sweetspot::report {

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

}  // namespace sweetspot::report
