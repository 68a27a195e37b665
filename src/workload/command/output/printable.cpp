#include "workload/command/output/printable.h"

#include <cstdint>

namespace sweetspot::workload::command::output {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Bytes of the valid UTF-8 character at the front, 0 for none. Control characters are none either:
// U+0080 to U+009F are obeyed by some terminals.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  std::uint32_t code = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  const bool too_long = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code < 0xa0;
  return too_long || surrogate || control || code > 0x10ffff ? 0 : size;
}

}  // namespace

std::string printable_line(std::string_view line, std::size_t most_bytes) {
  std::string out;
  while (!line.empty()) {
    const std::size_t size = line.front() == '\t' ? 0 : character_bytes(line);
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

}  // namespace sweetspot::workload::command::output
