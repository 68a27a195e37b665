#include <algorithm>
#include <cstring>

#include "workload/command/output/cursor.h"
#include "workload/command/output/log_lines.h"

namespace sweetspot::workload::command::output {
namespace {

constexpr std::size_t longest_text = 512;
constexpr std::size_t most_numbers = 32;
constexpr std::size_t most_count_digits = 15;

bool separates(char c) { return c == ',' || c == '_'; }

// "1,200": the number of digits shows whether they belong together.
bool may_be_grouped(std::string_view text, std::size_t begin, std::size_t end) {
  const bool before = begin > 1 && separates(text[begin - 1]) && is_digit(text[begin - 2]);
  const bool after = end + 1 < text.size() && separates(text[end]) && is_digit(text[end + 1]);
  return before || after;
}

}  // namespace

std::optional<LineShape> LineShape::of(std::string_view text, const LogLine& line,
                                       const std::vector<NumberUse>& numbers) {
  if (line.size == 0 || text.size() > longest_text || numbers.size() > most_numbers)
    return std::nullopt;
  LineShape shape;
  shape.text_ = text;
  shape.line_ = line;
  for (const NumberUse& use : numbers)
    if (!use.fixed) shape.add_holes(use);
  return shape;
}

void LineShape::add_holes(const NumberUse& use) {
  const Number& number = use.number;
  const bool counts = use.counter != NumberUse::none;
  const std::size_t last = counts ? number.digits_end : number.end;
  for (std::size_t at = number.begin; at < last;) {
    if (!is_digit(text_[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const bool is_whole = at == number.begin && end == number.digits_end;
    if (counts && !is_whole) return;  // "1,200": this one stays as it is
    Placeholder hole{at, end, Placeholder::Takes::as_many_digits, use.counter};
    const bool is_fraction = at > 0 && text_[at - 1] == '.';
    if (!may_be_grouped(text_, at, end)) {
      if (counts)
        hole.takes = Placeholder::Takes::count;
      else if (number.kind == Number::Kind::decimal)
        hole.takes = is_fraction ? Placeholder::Takes::not_only_zeros : Placeholder::Takes::digits;
    } else if (counts || is_fraction) {
      return;
    }
    // Zeros after a point make it an integer, other digits do not.
    const bool all_zeros = std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(at),
                                       text_.begin() + static_cast<std::ptrdiff_t>(end),
                                       [](char c) { return c == '0'; });
    const bool may_change = !is_fraction ||
                            (hole.takes == Placeholder::Takes::not_only_zeros && !all_zeros) ||
                            number.kind == Number::Kind::other;
    if (may_change) holes_.push_back(hole);
    at = end;
  }
}

const LogLine* LineShape::read(std::string_view text) {
  std::size_t at = 0, from = 0;  // in the text, and in the shape
  for (const Placeholder& hole : holes_) {
    const std::size_t length = hole.begin - from;
    if (text.size() < at + length || std::memcmp(&text[at], &text_[from], length) != 0)
      return nullptr;
    at += length;
    const std::size_t begin = at;
    std::int64_t value = 0;
    while (at < text.size() && is_digit(text[at])) {
      if (at - begin < most_count_digits) value = value * 10 + (text[at] - '0');
      ++at;
    }
    const std::size_t digits = at - begin;
    if (digits == 0) return nullptr;
    switch (hole.takes) {
      case Placeholder::Takes::digits:
        break;
      case Placeholder::Takes::as_many_digits:
        if (digits != hole.end - hole.begin) return nullptr;
        break;
      case Placeholder::Takes::not_only_zeros:
        if (value == 0) return nullptr;
        break;
      case Placeholder::Takes::count: {
        LineCounter& counter = line_.all[hole.counter];
        if (digits > most_count_digits || (counter.total && value > *counter.total)) return nullptr;
        counter.count = value;
        break;
      }
    }
    from = hole.end;
  }
  const std::size_t rest = text_.size() - from;
  if (text.size() - at != rest || std::memcmp(text.data() + at, text_.data() + from, rest) != 0)
    return nullptr;
  return &line_;
}

}  // namespace sweetspot::workload::command::output
