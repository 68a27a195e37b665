#include "workload/command/output/cursor.h"
#include "workload/command/output/refresh.h"
#include "workload/command/output/words.h"

// tqdm prints  desc:  12%|█▏        | 24/200 [00:01<00:09, 17.64it/s, loss=0.5]
// and without a total  desc: 24it [00:01, 17.64it/s, loss=0.5]
namespace sweetspot::workload::command::output {
namespace {

// "17.64it/s", "1.30s/it", "?examples/s", "1.20kimg/s": the unit's name; nothing when there is
// none.
std::optional<std::string_view> unit_of_rate(std::string_view part) {
  const std::size_t slash = part.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view above = part.substr(0, slash), below = part.substr(slash + 1);
  if (below == "s") {
    Cursor unit(above);
    if (!unit.take("?") && !unit.take_count()) return std::nullopt;
    return trimmed(unit.rest());
  }
  if (!above.ends_with('s')) return std::nullopt;
  return trimmed(below);
}

// The counter's unit from what follows '[': "00:01<00:09, 17.64it/s]". Nothing for other brackets.
std::optional<Counts> read_times(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.take_clock()) return std::nullopt;
  if (cursor.take("<") && !cursor.take("?") && !cursor.take_clock()) return std::nullopt;
  if (cursor.next_is(']')) return Counts::updates;  // a bar_format without a rate
  if (!cursor.take(",")) return std::nullopt;
  const std::size_t end = cursor.rest().find_first_of(",]");
  if (end == std::string_view::npos) return std::nullopt;  // "1.30s/s" may become "1.30s/step"
  const auto unit = unit_of_rate(trimmed(cursor.rest().substr(0, end)));
  return unit ? counts_of(*unit) : Counts::updates;
}

// "Epoch 3:  12%" → "Epoch 3"
std::string_view description_of(std::string_view text) {
  text = trimmed(text);
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    while (!text.empty() && is_digit(text.back())) text.remove_suffix(1);
    text = trimmed(text);
  }
  if (text.ends_with(':')) text.remove_suffix(1);
  return trimmed(text);
}

// "desc:  12%|██   | 24/200"
std::optional<Refresh> read_with_total(std::string_view text) {
  const std::size_t closing = text.rfind('|');
  if (closing == std::string_view::npos || closing == 0) return std::nullopt;
  const std::size_t opening = text.rfind('|', closing - 1);
  if (opening == std::string_view::npos) return std::nullopt;
  Cursor cursor(trimmed(text.substr(closing + 1)));
  Refresh refresh;
  const auto count = cursor.take_count();
  if (!count || !cursor.take("/")) return std::nullopt;
  refresh.count = *count;
  if (!cursor.take("?")) {
    refresh.total = cursor.take_count();
    if (!refresh.total) return std::nullopt;
  }
  if (!cursor.done()) return std::nullopt;
  refresh.description = description_of(text.substr(0, opening));
  return refresh;
}

// "desc: 24it"
std::optional<Refresh> read_without_total(std::string_view text) {
  const std::size_t colon = text.rfind(": ");
  const std::size_t start = colon == std::string_view::npos ? 0 : colon + 2;
  Cursor cursor(trimmed(text.substr(start)));
  Refresh refresh;
  const auto count = cursor.take_count();
  if (!count) return std::nullopt;
  cursor.take_spaces();
  if (cursor.take_letters().empty() || !cursor.done()) return std::nullopt;
  refresh.count = *count;
  refresh.description = description_of(text.substr(0, start));
  return refresh;
}

}  // namespace

std::optional<Refresh> read_tqdm(std::string_view text) {
  std::size_t bracket = text.find('[');
  for (int tried = 0; bracket != std::string_view::npos && tried < most_brackets; ++tried) {
    const auto counts = read_times(text.substr(bracket + 1));
    if (counts) {
      const std::string_view before = trimmed(text.substr(0, bracket));
      auto refresh = read_with_total(before);
      if (!refresh) refresh = read_without_total(before);
      if (!refresh) return std::nullopt;
      refresh->counts = *counts;
      return refresh;
    }
    bracket = text.find('[', bracket + 1);
  }
  return std::nullopt;
}

}  // namespace sweetspot::workload::command::output
