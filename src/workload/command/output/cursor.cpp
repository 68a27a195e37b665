#include "workload/command/output/cursor.h"

#include <charconv>
#include <cmath>

namespace sweetspot::workload::command::output {
namespace {

// No training counts further, and doubles are exact up to here.
constexpr double largest_counter = 0x1p53;

double scale_of(char suffix) {
  switch (suffix) {  // tqdm's unit_scale
    case 'k':
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    default:
      return 1;
  }
}

}  // namespace

std::optional<std::int64_t> Cursor::take_count() {
  if (rest_.empty() || !is_digit(rest_.front())) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  if (!rest_.empty() && scale_of(rest_.front()) != 1) {
    value *= scale_of(rest_.front());
    rest_.remove_prefix(1);
  }
  if (!(value <= largest_counter)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(value));
}

bool Cursor::take_clock() {
  Cursor ahead = *this;
  int colons = 0;
  if (ahead.take_digits().empty()) return false;
  while (ahead.take(":")) {
    if (ahead.take_digits().size() != 2) return false;
    ++colons;
  }
  if (colons == 0) return false;
  *this = ahead;
  return true;
}

}  // namespace sweetspot::workload::command::output
