#include "workload/command/output/tail.h"

#include <algorithm>
#include <deque>

#include "core/text.h"
#include "workload/command/output/scanner.h"

namespace sweetspot::workload::command::output {

std::string printable_line(std::string_view line, std::size_t most_bytes) {
  std::string out;
  while (!line.empty()) {
    const std::size_t size = line.front() == '\t' ? 0 : core::printable_bytes(line);
    if (out.size() + (size == 0 ? 1 : size) > most_bytes) {
      out += "…";
      break;
    }
    if (line.front() == '\t')
      out += ' ';
    else if (size == 0)
      out += '?';
    else
      out += line.substr(0, size);
    line.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

namespace {

constexpr std::size_t most_lines = 1000;
constexpr std::size_t longest_shown = 1500;  // what PyTorch says of memory has 700

struct Lines final : Scanner::Sink {
  explicit Lines(std::size_t most) : most_(most) {}
  bool maybe_whole(std::string_view, double) override { return true; }
  void ended(std::string_view text, double) override {
    std::string line = printable_line(text, longest_shown);
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.empty()) return;
    if (replaces_ && !kept.empty()) kept.pop_back();
    kept.push_back(std::move(line));
    if (kept.size() > most_) kept.pop_front();
    replaces_ = false;
    row_has_text_ = true;
  }
  // Of a bar's many refreshes the last is enough.
  void returned() { replaces_ = row_has_text_; }
  void next_row() { replaces_ = row_has_text_ = false; }

  std::deque<std::string> kept;

 private:
  std::size_t most_;
  bool replaces_ = false;
  bool row_has_text_ = false;
};

}  // namespace

void Tail::feed(std::string_view bytes) {
  if (bytes.size() >= kept) {
    whole_ = whole_ && bytes_.empty() && bytes.size() == kept;
    bytes_.assign(bytes.substr(bytes.size() - kept));
    return;
  }
  bytes_.append(bytes);
  if (bytes_.size() < 2 * kept) return;
  bytes_.erase(0, bytes_.size() - kept);
  whole_ = false;
}

// The answer must not depend on when the buffer was cut.
std::string_view Tail::whole_lines() const {
  std::string_view bytes = bytes_;
  const bool cut = !whole_ || bytes.size() > kept;
  if (bytes.size() > kept) bytes.remove_prefix(bytes.size() - kept);
  if (cut) {  // begin with a whole line where there is one
    const std::size_t newline = bytes.find('\n');
    if (newline != std::string_view::npos && newline + 1 < bytes.size())
      bytes.remove_prefix(newline + 1);
  }
  return bytes;
}

std::vector<std::string> Tail::refreshes(std::size_t most) const {
  struct Refreshes final : Scanner::Sink {
    bool maybe_whole(std::string_view, double) override { return true; }
    void ended(std::string_view text, double) override { kept.emplace_back(text); }
    std::vector<std::string> kept;
  } all;
  Scanner scanner;
  scanner.feed(whole_lines(), 0, all);
  if (all.kept.size() > most)
    all.kept.erase(all.kept.begin(), all.kept.end() - static_cast<std::ptrdiff_t>(most));
  return std::move(all.kept);
}

std::string Tail::last_lines(std::size_t count) const {
  std::string_view bytes = whole_lines();
  Lines lines(std::min(count, most_lines));
  Scanner scanner;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size() - 1) + 1;
    const char last = bytes[end - 1];
    scanner.feed(bytes.substr(0, end), 0, lines);
    bytes.remove_prefix(end);
    if (last == '\n') lines.next_row();
    if (last == '\r' && !bytes.starts_with('\n')) lines.returned();
  }
  scanner.feed("\n", 0, lines);
  std::string text;
  for (const std::string& line : lines.kept) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace sweetspot::workload::command::output
