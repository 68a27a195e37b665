#include "workload/command/output/cursor.h"
#include "workload/command/output/refresh.h"
#include "workload/command/output/units.h"

// Log lines that count updates without brackets, after a word for them:
//   step 12/100    Step 12/100, loss 0.3    Epoch 1/10 | Iter: 12/100 | …    [train] batch=12 / 100
namespace sweetspot::workload::command::output {
namespace {

constexpr int most_slashes = 8;  // of one line are looked at: paths have many

bool belongs_to_a_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; }

// "12", whole, at the end of the text; nothing for "1.5", "-3" and "x12".
std::string_view digits_before(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0 && is_digit(text[start - 1])) --start;
  if (start > 0 && std::string_view(".,-+_").find(text[start - 1]) != std::string_view::npos)
    return {};
  return text.substr(start);
}

// The last word of "Epoch 1 | Step: ", where the end is nothing but what may stand before a number.
std::string_view word_before(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t:=#");
  if (end == std::string_view::npos || end + 1 == text.size()) return {};
  std::size_t start = end + 1;
  while (start > 0 && belongs_to_a_word(text[start - 1])) --start;
  return text.substr(start, end + 1 - start);
}

// After the total: what would make it another number, a unit or a third part is not taken.
bool ends_a_counter(std::string_view rest) {
  if (rest.empty()) return true;
  const bool goes_on = rest.size() > 1 && is_digit(rest[1]);
  if (rest.front() == '.' || rest.front() == ',') return !goes_on;
  return !belongs_to_a_word(rest.front()) && rest.front() != '/' && rest.front() != '%';
}

// The first word of what follows; the letters of "1m" and "2e-3" are none.
std::string_view first_word(std::string_view rest) {
  std::size_t start = 0;
  while (start < rest.size() &&
         !(is_letter(rest[start]) && (start == 0 || !belongs_to_a_word(rest[start - 1]))))
    ++start;
  return Cursor(rest.substr(start)).take_letters();
}

std::optional<Refresh> read_around(std::string_view text, std::size_t slash) {
  const std::string_view before = text.substr(0, slash);
  const std::size_t last = before.find_last_not_of(' ');
  if (last == std::string_view::npos) return std::nullopt;
  const std::string_view digits = digits_before(before.substr(0, last + 1));
  const auto count = Cursor(digits).take_count();
  if (!count) return std::nullopt;
  const std::string_view head =
      text.substr(0, static_cast<std::size_t>(digits.data() - text.data()));
  const std::string_view word = word_before(head);
  if (word.empty() || counts_of(word) != Counts::updates) return std::nullopt;

  Cursor cursor(text.substr(slash + 1));
  cursor.take_spaces();
  const auto total = Cursor(cursor.take_digits()).take_count();
  if (!total || !ends_a_counter(cursor.rest())) return std::nullopt;
  return Refresh{.format = Format::step_line,
                 .description = trimmed(head),
                 .subject = first_word(cursor.rest()),
                 .count = *count,
                 .total = total};
}

}  // namespace

std::optional<Refresh> read_step_line(std::string_view text) {
  std::size_t slash = text.find('/');
  for (int tried = 0; slash != std::string_view::npos && tried < most_slashes; ++tried) {
    if (auto refresh = read_around(text, slash); refresh && refresh->count <= *refresh->total)
      return refresh;
    slash = text.find('/', slash + 1);
  }
  return std::nullopt;
}

}  // namespace sweetspot::workload::command::output
