#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::workload::command::client {

constexpr std::size_t longest_line = 64 * 1024;  // with its newline

// Cuts a stream into lines. What is too long is skipped and counted, and never kept.
class Lines {
 public:
  std::vector<std::string> feed(std::string_view bytes);
  void end();  // of the stream: half a line counts as bad
  std::int64_t bad() const { return bad_; }

 private:
  std::string begun_;
  bool skipping_ = false;
  std::int64_t bad_ = 0;
};

}  // namespace sweetspot::workload::command::client
