#include "probe/proc/own_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "probe/proc/host.h"
#include "probe/text_file.h"

namespace sweetspot::probe::proc {

std::optional<core::Bytes> own_memory(const std::filesystem::path& root) {
  std::istringstream pages(read_text(root / "proc/self/statm").value_or(""));
  core::Bytes all = 0, resident = 0;
  if (!(pages >> all >> resident)) return std::nullopt;
  return resident * static_cast<core::Bytes>(sysconf(_SC_PAGESIZE));
}

bool restart_own_peak() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // proc(5): "reset the peak resident set size"
  return file.good();
}

std::optional<core::Bytes> own_peak() {
  const auto kibibytes = read_field("/proc/self/status", "VmHWM");
  return kibibytes ? std::optional(*kibibytes * core::KiB) : std::nullopt;
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

namespace {

// "487532 1584575 2": nanoseconds on a CPU, in a run queue, and the number of time slices. Without
// streams: it is read before and after every block of steps, for every thread.
bool add_thread(int file, Scheduling& sum) {
  std::array<char, 64> text{};
  if (read(file, text.data(), text.size() - 1) <= 0) return false;
  char* rest = nullptr;
  sum.ran_seconds += static_cast<double>(std::strtoull(text.data(), &rest, 10)) / 1e9;
  sum.waited_seconds += static_cast<double>(std::strtoull(rest, nullptr, 10)) / 1e9;
  return true;
}

// False if none was counted.
bool add_process(const std::filesystem::path& process, Scheduling& sum) {
  DIR* const threads = opendir((process / "task").c_str());
  if (!threads) return false;
  bool any = false;
  while (const dirent* const thread = readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    const std::string name = std::string(thread->d_name) + "/schedstat";
    const int file = openat(dirfd(threads), name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;  // it may have ended meanwhile
    any |= add_thread(file, sum);
    close(file);
  }
  closedir(threads);
  return any;
}

}  // namespace

std::optional<Scheduling> own_scheduling(const std::filesystem::path& root) {
  Scheduling sum;
  bool any = false;
  if (counts_caller_as_own())
    for (const std::string& process : own_processes(root))
      any |= add_process(root / "proc" / process, sum);
  else
    any = add_process(root / "proc/self", sum);
  if (!any) return std::nullopt;
  static const int cores = usable_cores();
  sum.cores = cores;
  return sum;
}

double taken_by_others(const Scheduling& before, const Scheduling& after, double seconds) {
  if (!(seconds > 0)) return 0;
  const double waited = after.waited_seconds - before.waited_seconds;
  const double left = after.cores * seconds - (after.ran_seconds - before.ran_seconds);
  return std::max(0.0, std::min(waited, left)) / seconds;
}

}  // namespace sweetspot::probe::proc
