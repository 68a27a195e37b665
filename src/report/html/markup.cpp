#include "report/html/markup.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "core/text.h"
#include "report/text/table.h"

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
  constexpr double whole_from = 1000;  // four digits before the point: none behind it
  if (std::abs(value) < whole_from) return fmt::format("{:.4g}", value);
  if (std::abs(value) >= 1e15) return fmt::format("{:.3g}", value);
  return with_thin_spaces(core::format_count(value));
}

}  // namespace sweetspot::report
