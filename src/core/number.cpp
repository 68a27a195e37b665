#include "core/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::core {
namespace {

template <class Number>
bool parse_all(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end;
}

// More points than anyone can read; guards against "1..1000000000".
constexpr std::size_t most_values = 10'000;

// A number of a range; if it is none, the range may be written in some other way.
std::int64_t parse_of_range(std::string_view text, std::string_view what, std::int64_t least) {
  std::int64_t value = 0;
  if (!parse_all(text, value))
    throw InputError(
        fmt::format("{} '{}' is not a whole number; write one, a list (16,32,64) or a range "
                    "(16..4096*2, 100..1000+100)",
                    what, printable(text)));
  return parse_whole(text, what, least, most_batch);
}

void append(std::string_view part, std::string_view what, std::vector<std::int64_t>& values) {
  const std::size_t dots = part.find("..");
  const std::int64_t first = parse_of_range(part.substr(0, dots), what, 1);
  if (dots == std::string_view::npos) return values.push_back(first);

  const std::string_view tail = part.substr(dots + 2);
  const std::size_t sign = tail.find_first_of("*+");
  const std::int64_t last = parse_of_range(tail.substr(0, sign), what, 1);
  const bool multiply = sign != std::string_view::npos && tail[sign] == '*';
  const std::int64_t by = sign == std::string_view::npos
                              ? 1
                              : parse_of_range(tail.substr(sign + 1), what, multiply ? 2 : 1);
  if (last < first)
    throw InputError(fmt::format("{} '{}' runs backwards; write the smaller number first", what,
                                 printable(part)));
  for (std::int64_t value = first; value <= last && values.size() <= most_values;) {
    values.push_back(value);
    if (multiply && value > last / by) break;
    value = multiply ? value * by : value + by;
  }
}

}  // namespace

std::int64_t parse_whole(std::string_view text, std::string_view what, std::int64_t least,
                         std::int64_t most) {
  std::int64_t value = 0;
  if (parse_all(text, value) && value >= least && value <= most) return value;
  const std::string bounds = most == std::numeric_limits<std::int64_t>::max()
                                 ? fmt::format("{} or more", least)
                                 : fmt::format("from {} to {}", least, most);
  throw InputError(
      fmt::format("{} '{}' must be a whole number, {}", what, printable(text), bounds));
}

double parse_real(std::string_view text, std::string_view what, Bound least, Bound most) {
  double value = 0;
  const bool above = parse_all(text, value) && std::isfinite(value) &&
                     (least.inclusive ? value >= least.value : value > least.value);
  if (above && (most.inclusive ? value <= most.value : value < most.value)) return value;
  throw InputError(fmt::format("{} '{}' must be a number {} {:g} and {} {:g}", what,
                               printable(text), least.inclusive ? "of at least" : "above",
                               least.value, most.inclusive ? "at most" : "below", most.value));
}

double parse_share(std::string_view text, std::string_view what, double most) {
  const bool in_percent = text.ends_with('%');
  double value = 0;
  if (parse_all(text.substr(0, text.size() - (in_percent ? 1 : 0)), value)) {
    const double share = in_percent ? value / 100 : value;
    if (share > 0 && share <= most) return share;
  }
  throw InputError(
      fmt::format("{} '{}' must be a share above 0% and at most {:g}%; write it like 5% or 0.05",
                  what, printable(text), 100 * most));
}

std::vector<std::int64_t> parse_range(std::string_view text, std::string_view what) {
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    append(text.substr(at, comma - at), what, values);
    if (values.size() > most_values)
      throw InputError(fmt::format("{} '{}' has more than {} values; take larger steps", what,
                                   printable(text), most_values));
    at = comma + 1;
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace sweetspot::core
