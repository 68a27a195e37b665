#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sweetspot::workload::command::output {

// A regular expression of the user's (PCRE2), for lines that anybody may have written. A line that
// costs too much is passed over, and after too many of them all are.
class Pattern {
 public:
  Pattern(const std::string& pattern, std::string flag);  // InputError names the flag
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Where the match at or after `from` begins and ends, then its first group; nullptr for none, and
  // valid until the next call. A group that took no part has its end before its beginning.
  const std::size_t* find(std::string_view line, std::size_t from);
  std::size_t groups() const;
  bool has_group(const char* name) const;
  bool gave_up() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sweetspot::workload::command::output
