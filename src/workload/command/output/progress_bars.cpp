#include "workload/command/output/progress_bars.h"

#include <algorithm>

#include "workload/command/output/cursor.h"
#include "workload/command/output/number.h"
#include "workload/command/output/words.h"

// tqdm prints  desc:  12%|█▏        | 24/200 [00:01<00:09, 17.64it/s, loss=0.5]
// and without a total  desc: 24it [00:01, 17.64it/s, loss=0.5]
namespace sweetspot::workload::command::output {
namespace {

// "17.64it/s", "1.30s/it", "?examples/s", "1.20kimg/s": the unit's name; nullopt if there is none.
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

// The counter's unit from the text after '[': "00:01<00:09, 17.64it/s]". nullopt for other
// brackets.
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

// Keras 3   24/200 ━━━━━━━━━━━━━━━━━━━━ 9s 52ms/step - loss: 0.5
// Keras 2   24/200 [==>...........................] - ETA: 9s - loss: 0.5
// verbose=2  200/200 - 12s - 58ms/step - loss: 0.5, and "12s 58ms/step" in Keras 2
// and with a data set of unknown length  24/Unknown 9s 52ms/step
namespace {

constexpr std::string_view heavy_line = "━";

// "ms/step" or "us/sample" anywhere: what is counted, if stated.
Counts counts_said(std::string_view text) {
  return text.find("s/sample") == std::string_view::npos ? Counts::updates : Counts::samples;
}

// "[=====>....]"
bool take_old_bar(Cursor& cursor) {
  if (!cursor.take("[")) return false;
  const std::size_t length = cursor.rest().find_first_not_of("=>.");
  return length != 0 && length != std::string_view::npos &&
         cursor.take(cursor.rest().substr(0, length)) && cursor.take("]");
}

bool has_rate_or_loss(std::string_view text) {
  return text.find("s/step") != std::string_view::npos ||
         text.find("s/sample") != std::string_view::npos ||
         text.find("loss") != std::string_view::npos;
}

}  // namespace

std::optional<Refresh> read_keras(std::string_view text) {
  Cursor cursor(text);
  cursor.take_spaces();
  Refresh refresh{.format = Format::keras};
  const auto count = cursor.take_count();
  if (!count || !cursor.take("/")) return std::nullopt;
  refresh.count = *count;
  const bool endless = cursor.take("Unknown");
  if (!endless) refresh.total = cursor.take_count();
  if (!endless && !refresh.total) return std::nullopt;
  cursor.take_spaces();
  refresh.counts = counts_said(cursor.rest());
  refresh.after_validation = cursor.rest().find(" - val_") != std::string_view::npos;
  if (endless) return refresh;
  if (cursor.rest().starts_with(heavy_line) || take_old_bar(cursor)) return refresh;
  if (!cursor.take("- ") || !has_rate_or_loss(cursor.rest())) return std::nullopt;
  refresh.whole_epoch = refresh.count == refresh.total;
  return refresh;
}

// Ultralytics  1/100  2.33G  1.22  640: 12% ━━────────── 24/200 3.1it/s 7.7s<56.2s
// rich         Epoch 0/9 ━━━━━╸━━━━━ 24/200 0:00:01 • 0:00:09 17.64it/s v_num: 0
namespace {

bool take_bar_cell(Cursor& cursor) {
  return cursor.take("━") || cursor.take("─") || cursor.take("╸") || cursor.take("╺");
}

// The position of a bar of heavy lines, or npos.
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
  // Before its first step the bar shows no rate.
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

// Bars that programs draw themselves:
// Epoch 1 [======>           ] 24/200 loss 0.31     |████    | 12% (24/200)     ━━━━━╸━━━  12%
// 24/200 24/200 [####------]  12%
namespace {

constexpr std::size_t fewest_cells = 5;
constexpr std::size_t farthest = 24;  // the fraction after the bar, with a percentage between

// One cell of a bar at `at`, or 0: an ASCII sign, or a line, block or square of U+2500–25FF.
std::size_t cell_bytes(std::string_view text, std::size_t at) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  if (std::string_view("=#-.>*+_ ").find(text[at]) != std::string_view::npos) return 1;
  const bool drawn = byte(at) == 0xe2 && byte(at + 1) >= 0x94 && byte(at + 1) <= 0x97;
  return drawn && (byte(at + 2) & 0xc0) == 0x80 ? 3 : 0;
}

struct Bar {
  std::size_t begin = 0, end = 0;  // including its brackets
};

// The cells from `at` on, up to the first other character.
std::size_t skip_cells(std::string_view text, std::size_t at, std::size_t& cells, bool& filled) {
  while (at < text.size()) {
    const std::size_t bytes = cell_bytes(text, at);
    if (bytes == 0) break;
    filled = filled || text[at] != ' ';
    ++cells;
    at += bytes;
  }
  return at;
}

// The first bar from `from` on: in brackets or between two strokes, or of drawn cells without.
std::optional<Bar> find_bar(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    const char opening = text[at];
    const bool drawn = opening == '\xe2' && cell_bytes(text, at) == 3;
    if (opening != '[' && opening != '|' && !drawn) continue;
    std::size_t cells = 0;
    bool filled = false;
    std::size_t end = skip_cells(text, drawn ? at : at + 1, cells, filled);
    if (drawn) {
      while (end > at && text[end - 1] == ' ') --end;
    } else {
      const char closing = opening == '[' ? ']' : '|';
      if (end >= text.size() || text[end] != closing) continue;
      ++end;
    }
    if (cells >= fewest_cells && filled) return Bar{at, end};
    if (drawn) at = end - 1;
  }
  return std::nullopt;
}

// The fraction after the bar; a percentage may be in between.
std::optional<Number> fraction_after(std::string_view text, std::size_t begin) {
  const std::size_t last = std::min(text.size(), begin + farthest);
  for (std::size_t at = begin; at < last;) {
    if (!is_digit(text[at])) {
      if (std::string_view(" |:,;()[]-").find(text[at]) == std::string_view::npos) break;
      ++at;
      continue;
    }
    const Number number = read_number(text, at);
    if (number.kind == Number::Kind::whole && number.total) return number;
    const std::size_t sign = text.find_first_not_of(' ', number.end);
    const bool percent = number.percent || (sign != text.npos && text[sign] == '%');
    if (!percent) break;
    at = (number.percent ? number.end : sign) + 1;
  }
  return std::nullopt;
}

// "24/200 [####----]": the beginning of the line.
std::optional<Number> fraction_in_front(std::string_view text, std::size_t bar) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first >= bar || !is_digit(text[first])) return std::nullopt;
  const Number number = read_number(text, first);
  if (number.kind != Number::Kind::whole || !number.total || number.end > bar) return std::nullopt;
  return trimmed(text.substr(number.end, bar - number.end)).empty() ? std::optional(number)
                                                                    : std::nullopt;
}

// "24/200 images", "5/9MB": what it counts by the following word; "24/200 loss 0.3" are updates.
Counts counts_by(std::string_view after) {
  const bool glued = !after.empty() && is_letter(after.front());
  const std::string_view rest = trimmed(after);
  const std::size_t end = word_end(rest, 0);
  const Counts counts = counts_of(rest.substr(0, end));
  return counts == Counts::something_else && !glued ? Counts::updates : counts;
}

}  // namespace

std::optional<Refresh> read_drawn_bar(std::string_view text) {
  std::size_t from = 0;
  for (int tried = 0; tried < most_brackets; ++tried) {
    const auto bar = find_bar(text, from);
    if (!bar) break;
    auto fraction = fraction_after(text, bar->end);
    std::string_view description = text.substr(0, bar->begin);
    if (!fraction) {
      fraction = fraction_in_front(text, bar->begin);
      description = {};
    }
    if (fraction) {
      description = trimmed(description);
      if (description.ends_with('%')) {
        description.remove_suffix(1);
        const std::size_t word = description.find_last_not_of("0123456789. ");
        description = description.substr(0, word == description.npos ? 0 : word + 1);
      }
      return Refresh{.format = Format::drawn,
                     .counts = counts_by(text.substr(std::max(fraction->end, bar->end))),
                     .description = description,
                     .count = fraction->value,
                     .total = fraction->total};
    }
    from = bar->end;
  }
  return std::nullopt;
}

}  // namespace sweetspot::workload::command::output
