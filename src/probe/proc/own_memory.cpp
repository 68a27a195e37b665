#include "probe/proc/own_memory.h"

#include <unistd.h>

#include <sstream>

#include "probe/proc/text_file.h"

namespace sweetspot::probe::proc {

std::optional<core::Bytes> own_memory(const std::filesystem::path& root) {
  std::istringstream pages(read_text(root / "proc/self/statm").value_or(""));
  core::Bytes all = 0, resident = 0;
  if (!(pages >> all >> resident)) return std::nullopt;
  return resident * static_cast<core::Bytes>(sysconf(_SC_PAGESIZE));
}

}  // namespace sweetspot::probe::proc
