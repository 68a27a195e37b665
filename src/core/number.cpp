#include "core/number.h"

#include <fmt/format.h>

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

}  // namespace sweetspot::core
