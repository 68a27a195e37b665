#include <algorithm>

#include "workload/command/output/cursor.h"
#include "workload/command/output/refresh.h"
#include "workload/command/output/words.h"

// Ultralytics  1/100  2.33G  1.22  640: 12% ━━────────── 24/200 3.1it/s 7.7s<56.2s
// rich         Epoch 0/9 ━━━━━╸━━━━━ 24/200 0:00:01 • 0:00:09 17.64it/s v_num: 0
namespace sweetspot::workload::command::output {
namespace {

bool take_bar_cell(Cursor& cursor) {
  return cursor.take("━") || cursor.take("─") || cursor.take("╸") || cursor.take("╺");
}

// Where the bar of heavy lines begins, or npos.
std::size_t find_bar(std::string_view text) {
  if (text.find("━"[0]) == std::string_view::npos) return std::string_view::npos;  // they share it
  return std::min({text.find("━"), text.find("─"), text.find("╸"), text.find("╺")});
}

// "3.1it/s", the second of two clocks in rich: the unit of the first token that is a rate.
std::optional<Counts> unit_of(std::string_view text) {
  constexpr std::string_view per_second = "/s";
  for (std::size_t slash; (slash = text.find(per_second)) != std::string_view::npos;) {
    const std::string_view before = text.substr(0, slash);
    const std::size_t space = before.rfind(' ');
    Cursor token(space == std::string_view::npos ? before : before.substr(space + 1));
    if (token.take_count()) return counts_of(token.rest());
    text.remove_prefix(slash + per_second.size());
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refresh> read_heavy_bar(std::string_view text) {
  const std::size_t bar = find_bar(text);
  if (bar == std::string_view::npos) return std::nullopt;
  Cursor cursor(text.substr(bar));
  while (take_bar_cell(cursor)) continue;
  if (!cursor.take_spaces()) return std::nullopt;
  Refresh refresh;
  const auto count = cursor.take_count();
  if (!count) return std::nullopt;
  refresh.count = *count;
  if (cursor.take("/")) {
    refresh.total = cursor.take_count();
    if (!refresh.total) return std::nullopt;
  }
  if (!cursor.done() && !cursor.next_is(' ')) return std::nullopt;  // "5.4/9.8MB" is a download

  std::string_view before = trimmed(text.substr(0, bar));
  const bool has_percentage = before.ends_with('%');
  const bool is_rich = cursor.rest().find("•") != std::string_view::npos;
  if (!has_percentage && !is_rich && refresh.total) return std::nullopt;
  refresh.format = is_rich ? Format::rich : Format::ultralytics;
  if (has_percentage) before.remove_suffix(1);
  while (has_percentage && !before.empty() && is_digit(before.back())) before.remove_suffix(1);
  before = trimmed(before);
  if (before.ends_with(':')) before.remove_suffix(1);
  refresh.description = trimmed(before);
  // Before its first step the bar shows no rate yet.
  refresh.counts = unit_of(cursor.rest()).value_or(Counts::updates);
  return refresh;
}

std::optional<Refresh> read_bar(std::string_view text) {
  auto refresh = read_tqdm(text);
  if (!refresh) refresh = read_keras(text);
  if (!refresh) refresh = read_heavy_bar(text);
  if (refresh && refresh->total && refresh->count > *refresh->total) return std::nullopt;
  return refresh;
}

}  // namespace sweetspot::workload::command::output
