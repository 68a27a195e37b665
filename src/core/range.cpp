#include "core/range.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::core {
namespace {

// More points than anyone can read; guards against "1..1000000000".
constexpr std::size_t most_values = 10'000;
// Small enough that no product or sum below overflows.
constexpr std::int64_t most_batch = std::int64_t{1} << 40;

void append(std::string_view part, std::string_view what, std::vector<std::int64_t>& values) {
  const std::size_t dots = part.find("..");
  const std::int64_t first = parse_whole(part.substr(0, dots), what, 1, most_batch);
  if (dots == std::string_view::npos) return values.push_back(first);

  const std::string_view tail = part.substr(dots + 2);
  const std::size_t sign = tail.find_first_of("*+");
  const std::int64_t last = parse_whole(tail.substr(0, sign), what, 1, most_batch);
  const bool multiply = sign != std::string_view::npos && tail[sign] == '*';
  const std::int64_t by =
      sign == std::string_view::npos
          ? 1
          : parse_whole(tail.substr(sign + 1), what, multiply ? 2 : 1, most_batch);
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
