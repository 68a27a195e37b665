#include "workload/command/output/number.h"

#include <charconv>

#include "workload/command/output/cursor.h"

namespace sweetspot::workload::command::output {
namespace {

constexpr std::size_t most_digits = 15;  // doubles are exact up to there, and no training is longer

char at_or_end(std::string_view text, std::size_t at) { return at < text.size() ? text[at] : '\0'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  constexpr std::size_t widest = 8;  // a column's padding
  const std::size_t end = at + widest;
  while (at < text.size() && at < end && text[at] == ' ') ++at;
  return at;
}

// "1,200,000" and "1_200_000": the end of the digits with their separators.
std::size_t skip_groups(std::string_view text, std::size_t begin, std::size_t end) {
  if (end - begin > 3) return end;
  const char separator = at_or_end(text, end);
  if (separator != ',' && separator != '_') return end;
  const std::size_t ungrouped = end;
  while (at_or_end(text, end) == separator && skip_digits(text, end + 1) == end + 4) end += 4;
  const bool is_list = at_or_end(text, end) == separator && is_digit(at_or_end(text, end + 1));
  return is_list ? ungrouped : end;
}

std::optional<std::int64_t> value_of(std::string_view digits) {
  std::int64_t value = 0;
  std::size_t count = 0;
  for (const char c : digits) {
    if (!is_digit(c)) continue;
    if (++count > most_digits) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Where the total begins, after "/", "of" or "out of"; 0 for none.
std::size_t find_total(std::string_view text, std::size_t at) {
  const char first = at_or_end(text, at);
  if (first != ' ' && first != '/') return 0;
  std::size_t next = skip_spaces(text, at);
  if (at_or_end(text, next) == '/') {
    next = skip_spaces(text, next + 1);
  } else if (next != at) {
    const std::string_view rest = text.substr(next);
    if (rest.starts_with("of "))
      next = skip_spaces(text, next + 2);
    else if (rest.starts_with("out of "))
      next = skip_spaces(text, next + 6);
    else
      return 0;
  } else {
    return 0;
  }
  return is_digit(at_or_end(text, next)) ? next : 0;
}

bool is_negative_or_fraction(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  const char before = text[at - 1];
  if (before == '.' || before == '+') return true;
  if (before != '-') return false;
  return at == 1 || !is_letter(text[at - 2]);  // "step-20" is not negative
}

}  // namespace

Number read_number(std::string_view text, std::size_t at) {
  Number number{.begin = at};
  std::size_t end = skip_groups(text, at, skip_digits(text, at));
  const std::string_view digits = text.substr(at, end - at);
  number.kind = is_negative_or_fraction(text, at) ? Number::Kind::other : Number::Kind::whole;
  const auto finish = [&](Number::Kind kind) {
    if (number.kind == Number::Kind::whole) number.kind = kind;
    number.end = number.digits_end = end;
    return number;
  };
  const auto goes_on = [&](char separator) {
    return at_or_end(text, end) == separator && is_digit(at_or_end(text, end + 1));
  };
  if (goes_on(':') || goes_on('-') || goes_on('_')) {  // a clock, a date, a range
    while (end < text.size() &&
           (is_digit(text[end]) || goes_on(':') || goes_on('-') || goes_on('.') || goes_on(',') ||
            goes_on('_') || (text[end] == 'T' && is_digit(at_or_end(text, end + 1)))))
      ++end;
    return finish(Number::Kind::other);
  }
  bool pointed = false;
  if (goes_on('.')) {
    const std::size_t fraction = end + 1;
    number.has_point = true;
    end = skip_digits(text, fraction);
    if (goes_on('.')) {  // a version, an address
      while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
      return finish(Number::Kind::other);
    }
    pointed = text.substr(fraction, end - fraction).find_first_not_of('0') != text.npos;
  }
  const char next = at_or_end(text, end);
  if ((next == '.' || next == '_') && is_letter(at_or_end(text, end + 1)))
    return finish(Number::Kind::other);  // a name: "step_20.pt", "20_x"
  const std::size_t sign =
      end + 1 + (at_or_end(text, end + 1) == '-' || at_or_end(text, end + 1) == '+');
  if ((next | 0x20) == 'e' && is_digit(at_or_end(text, sign))) {
    end = skip_digits(text, sign);
    return finish(Number::Kind::decimal);
  }
  number.percent = next == '%';
  if (pointed || number.percent) return finish(Number::Kind::decimal);
  const auto value = value_of(text.substr(at, digits.size()));
  if (!value) return finish(Number::Kind::other);
  number.value = *value;
  number.end = number.digits_end = end;
  if (const std::size_t total_begin = find_total(text, end)) {
    const std::size_t total_end = skip_groups(text, total_begin, skip_digits(text, total_begin));
    number.end = total_end;
    number.total = value_of(text.substr(total_begin, total_end - total_begin));
    const char after = at_or_end(text, total_end);
    const bool fraction =
        (after == '.' || after == ',') && is_digit(at_or_end(text, total_end + 1));
    if (!number.total || fraction || after == '/' || after == '%' || after == '-' || after == '_' ||
        number.value > *number.total)
      number.kind = Number::Kind::other;
  } else if (next == '/') {  // a path, "20/s"
    number.kind = Number::Kind::other;
  }
  return number;
}

}  // namespace sweetspot::workload::command::output
