#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text.h"

namespace sweetspot::workload::command::output {

constexpr int most_brackets = 8;  // of one line are looked into: a description may hold some

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Parses a text from its front; a failed match takes nothing.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }
  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::string_view take_digits() { return take_while(is_digit); }
  std::string_view take_letters() { return take_while(is_letter); }
  // True when there was one.
  bool take_spaces() {
    return !take_while([](char c) { return c == ' ' || c == '\t'; }).empty();
  }
  // "640", "1.20k", "12.5"; nullopt for anything else or a value too large for a counter.
  std::optional<std::int64_t> take_count();
  // "00:12", "1:02:03"
  bool take_clock();

 private:
  template <class Predicate>
  std::string_view take_while(Predicate predicate) {
    std::size_t length = 0;
    while (length < rest_.size() && predicate(rest_[length])) ++length;
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  std::string_view rest_;
};

using core::trimmed;
inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace sweetspot::workload::command::output
