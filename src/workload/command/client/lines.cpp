#include "workload/command/client/lines.h"

namespace sweetspot::workload::command::client {

std::vector<std::string> Lines::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const bool whole = newline != std::string_view::npos;
    const std::string_view part = bytes.substr(0, newline);
    bytes.remove_prefix(whole ? newline + 1 : bytes.size());
    if (!skipping_ && begun_.size() + part.size() >= longest_line) {
      skipping_ = true, ++bad_;
      begun_.clear();
    }
    if (!skipping_) begun_ += part;
    if (!whole) break;
    if (!skipping_) lines.push_back(std::move(begun_));
    begun_.clear();
    skipping_ = false;
  }
  return lines;
}

void Lines::end() {
  if (!begun_.empty()) ++bad_;
  begun_.clear();
  skipping_ = false;
}

}  // namespace sweetspot::workload::command::client
