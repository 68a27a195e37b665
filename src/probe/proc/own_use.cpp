#include "probe/proc/own_use.h"

#include <unistd.h>

#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include "probe/text_file.h"

namespace sweetspot::probe::proc {

std::optional<core::Bytes> own_memory(const std::filesystem::path& root) {
  std::istringstream pages(read_text(root / "proc/self/statm").value_or(""));
  core::Bytes all = 0, resident = 0;
  if (!(pages >> all >> resident)) return std::nullopt;
  return resident * static_cast<core::Bytes>(sysconf(_SC_PAGESIZE));
}

namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> time_of(const fs::path& process) {
  // "4211 (a name) with) spaces) S 1 …": the text after the last parenthesis is regular.
  const std::string text = read_text(process / "stat").value_or("");
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  std::istringstream words(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) words >> skipped;
  // Fields 14 to 17: its own, and those of waited-for children.
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;
  if (!(words >> user >> system >> children_user >> children_system)) return std::nullopt;
  return user + system + children_user + children_system;
}

// A child belongs to the thread that started it.
std::vector<std::string> children_of(const fs::path& process) {
  std::vector<std::string> found;
  std::error_code gone;
  for (const fs::directory_entry& thread : fs::directory_iterator(process / "task", gone)) {
    std::istringstream words(read_text(thread.path() / "children").value_or(""));
    for (std::string child; words >> child;) found.push_back(child);
  }
  return found;
}

std::atomic<pid_t> caller{0};

}  // namespace

void count_as_own(pid_t process) { caller = process; }

std::optional<std::uint64_t> own_time(const fs::path& root) {
  const pid_t from = caller;
  const fs::path first = root / "proc" / (from > 0 ? std::to_string(from) : "self");
  std::optional<std::uint64_t> ticks = time_of(first);
  std::vector<std::string> left = children_of(first);
  while (ticks && !left.empty()) {
    const fs::path process = root / "proc" / left.back();
    left.pop_back();
    *ticks += time_of(process).value_or(0);  // it may have ended meanwhile
    for (std::string& child : children_of(process)) left.push_back(std::move(child));
  }
  return ticks;
}

}  // namespace sweetspot::probe::proc
