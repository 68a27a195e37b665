#include <algorithm>

#include "workload/command/output/cursor.h"
#include "workload/command/output/number.h"
#include "workload/command/output/refresh.h"
#include "workload/command/output/words.h"

// What people draw themselves:
// Epoch 1 [======>           ] 24/200 loss 0.31     |████    | 12% (24/200)     ━━━━━╸━━━  12%
// 24/200 24/200 [####------]  12%
namespace sweetspot::workload::command::output {
namespace {

constexpr std::size_t fewest_cells = 5;
constexpr std::size_t farthest = 24;  // the fraction behind the bar, a percentage between

// One cell of a bar at `at`, or nothing: an ASCII sign, or a line, block or square of U+2500–25FF.
std::size_t cell_bytes(std::string_view text, std::size_t at) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  if (std::string_view("=#-.>*+_ ").find(text[at]) != std::string_view::npos) return 1;
  const bool drawn = byte(at) == 0xe2 && byte(at + 1) >= 0x94 && byte(at + 1) <= 0x97;
  return drawn && (byte(at + 2) & 0xc0) == 0x80 ? 3 : 0;
}

struct Bar {
  std::size_t begin = 0, end = 0;  // with its brackets
};

// The cells from `at` on, up to what is none.
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

// The fraction behind the bar; a percentage may stand between.
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

// "24/200 [####----]": what the line begins with.
std::optional<Number> fraction_in_front(std::string_view text, std::size_t bar) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first >= bar || !is_digit(text[first])) return std::nullopt;
  const Number number = read_number(text, first);
  if (number.kind != Number::Kind::whole || !number.total || number.end > bar) return std::nullopt;
  return trimmed(text.substr(number.end, bar - number.end)).empty() ? std::optional(number)
                                                                    : std::nullopt;
}

// "24/200 images", "5/9MB": what it counts by the word behind it; "24/200 loss 0.3" are updates.
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
