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
bool counts_caller_as_own() { return caller > 0; }

std::vector<std::string> own_processes(const fs::path& root) {
  const pid_t from = caller;
  std::vector<std::string> own{from > 0 ? std::to_string(from) : "self"};
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::string& child : children_of(root / "proc" / own[i])) own.push_back(std::move(child));
  return own;
}

std::optional<std::uint64_t> own_time(const fs::path& root) {
  std::optional<std::uint64_t> ticks;
  for (const std::string& process : own_processes(root)) {
    const std::optional<std::uint64_t> time = time_of(root / "proc" / process);
    if (!ticks && !time) return std::nullopt;
    ticks = ticks.value_or(0) + time.value_or(0);  // it may have ended meanwhile
  }
  return ticks;
}

}  // namespace sweetspot::probe::proc
