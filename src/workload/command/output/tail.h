#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::workload::command::output {

// At most `most_bytes` of a line as valid UTF-8 without control characters: invalid bytes become
// '?', and truncation is shown as "…".
std::string printable_line(std::string_view line, std::size_t most_bytes = 400);

// The last bytes of a stream unmodified, so that keeping them costs one copy; they are made
// readable on request.
class Tail {
 public:
  void feed(std::string_view bytes);
  std::string last_lines(std::size_t count) const;
  // Each refresh of a bar is one, oldest first.
  std::vector<std::string> refreshes(std::size_t most) const;

 private:
  std::string_view whole_lines() const;

  static constexpr std::size_t kept = 64 << 10;
  std::string bytes_;  // up to twice `kept`, so that moving is rare
  bool whole_ = true;  // nothing was cut off at the front
};

}  // namespace sweetspot::workload::command::output
