#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::report {

// Markdown tables, so that they can be pasted; numbers to the right.
struct Column {
  std::string title;
  bool left = false;
  std::size_t width = 0;  // at least this wide, for tables printed row by row
  bool optional = false;  // omitted if there is no space
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add(std::vector<std::string> cells);

  std::string head() const;
  std::string last_row() const;
  std::string text() const;
  // So that no line is wider: first truncates words, then omits the last optional columns.
  void fit(std::size_t most_width);

 private:
  std::string line(const std::vector<std::string>& cells) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns on a terminal, counting a multi-byte character as one.
std::size_t display_width(std::string_view text);

// The bytes of the part that fits.
std::size_t fitting(std::string_view text, std::size_t width);
// At words; a word that is too long for a line is split.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// Unknown is not zero.
constexpr std::string_view unknown = "–";

}  // namespace sweetspot::report
