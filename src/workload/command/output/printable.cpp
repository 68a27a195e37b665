#include "workload/command/output/printable.h"

#include "core/utf8.h"

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

}  // namespace sweetspot::workload::command::output
