#include "report/markup.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "core/text.h"
#include "report/table.h"

namespace sweetspot::report {
namespace {

constexpr std::string_view narrow_space = "\u202f";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  if (text.size() <= most) return core::printable(text);
  std::size_t end = most;  // not in the middle of a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{} … ({} in all)", core::printable(text.substr(0, end)),
                     core::format_bytes(text.size()));
}

std::string escaped_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

std::string with_thin_spaces(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = text[i] == ',' && i > 0 && is_digit(text[i - 1]) && i + 3 < text.size() &&
                         is_digit(text[i + 1]) && is_digit(text[i + 2]) && is_digit(text[i + 3]);
    if (between)
      out += narrow_space;
    else
      out += text[i];
  }
  return out;
}

std::string number_words(double value) {
  if (!std::isfinite(value)) return std::string(unknown);
  constexpr double whole_from = 1000;  // four digits before the point: none after it
  if (std::abs(value) < whole_from) return fmt::format("{:.4g}", value);
  if (std::abs(value) >= 1e15) return fmt::format("{:.3g}", value);
  return with_thin_spaces(core::format_count(value));
}

namespace {

constexpr std::size_t longest_cell = 240;  // the whole text is a click away

}  // namespace

PageTable page_table(const ShownStudy& study) {
  const std::vector<Row> list = rows(study);
  std::vector<const Field*> shown_fields;
  PageTable table;
  for (const Field& field : fields())
    if (is_shown(field, list)) {
      shown_fields.push_back(&field);
      table.columns.push_back({field.title, field.left});
    }
  for (const Row& row : list) {
    PageTable::Line line;
    line.trial = static_cast<std::size_t>(row.trial - study.trials.data());
    for (const Field* field : shown_fields) {
      const std::string words = shown(field->words(row), longest_cell);
      line.cells.push_back(field->left ? words : with_thin_spaces(words));
      Value key = field->value(row);
      if (field->left) key = words;  // as it reads
      line.keys.push_back(std::move(key));
    }
    table.lines.push_back(std::move(line));
  }
  return table;
}

}  // namespace sweetspot::report
